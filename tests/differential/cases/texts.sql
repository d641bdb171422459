-- Text: functions, patterns, C order, Unicode beyond the basic plane, empty strings, padding, length limits.
-- setup
CREATE TABLE te_t (id integer, t text, v varchar(20), c char(8));
INSERT INTO te_t VALUES
  (1, 'Hello', 'World', 'abc'), (2, '', '', ''), (3, NULL, NULL, NULL), (4, 'naïve café', 'ÄÖÜß', 'é'),
  (5, '日本語テキスト', '😀 smile', '日本'), (6, '  padded  ', E'tab\tnew\nline', 'x  '), (7, '100%_sure', 'a\b', 'Q''s'), (8, 'İstanbul', 'ﬁne', 'ΣΊΣΥΦΟΣ');
CREATE TABLE te_c (id integer, s text, c char(5));
INSERT INTO te_c VALUES (1, 'e' || chr(769) || 'a', 'a'), (2, 'ΣΑΣ ΟΔΟΣ', 'ab'), (3, '👨‍👩‍👧x', 'abcde'), (4, 'İıI', 'A'), (5, 'ßẞ', ''), (6, 'ǅǆ', NULL), (7, chr(57344) || 'K', 'b c');
-- cases
SELECT id, t, v, c FROM te_t;
SELECT id, length(t), char_length(v), octet_length(t), length(c), bit_length(v) FROM te_t;
SELECT id, upper(t), lower(t), upper(v), lower(v) FROM te_t WHERE id NOT IN (8);
SELECT initcap('hello wORLD of-things'), initcap('');
SELECT id, t || v, t || c, c || '|', concat(t, v, NULL, 1), concat_ws('-', t, NULL, v) FROM te_t;
SELECT id, substring(t FROM 2 FOR 3), substr(t, 3), substring(t, -1, 4), left(t, 2), right(t, 2), left(t, -2), right(t, -2) FROM te_t;
SELECT id, position('a' IN t), strpos(v, '😀'), position('' IN t) FROM te_t;
SELECT id, trim(t), ltrim(t), rtrim(t), btrim('xxhixx', 'x'), trim(LEADING 'H' FROM t), trim(BOTH 'xy' FROM 'xyhix') FROM te_t;
SELECT lpad('hi', 5, 'xy'), rpad('hi', 5), lpad('hello', 2), rpad('日', 3, '本'), lpad('x', 0), lpad('x', -1, 'y');
SELECT replace('banana', 'an', 'AN'), replace('abc', '', 'x'), translate('12345', '143', 'ax'), reverse('日本a'), repeat('ab', 3), repeat('x', 0), repeat('x', -1);
SELECT split_part('a,b,c', ',', 2), split_part('a,b,c', ',', -1), split_part('a,b,c', ',', 9), split_part('', ',', 1);
SELECT ascii('a'), ascii('é'), ascii(''), chr(97), chr(8364), chr(128512);
SELECT md5('hello'), md5(''), encode(sha256('abc'), 'hex');
SELECT starts_with('hello', 'he'), starts_with('hello', ''), 'hello' ^@ 'hel';
SELECT overlay('Txxxxas' PLACING 'hom' FROM 2 FOR 4), overlay('abc' PLACING 'X' FROM 2), to_hex(255), quote_literal('it''s'), quote_ident('Two words'), quote_nullable(NULL);
SELECT format('%s and %I and %L', 'a', 'b c', 'd''e'), format('%2$s %1$s', 'x', 'y'), format('%%|%5s|%-5s|', 'a', 'b');
SELECT string_to_array('a,b,,c', ','), string_to_array('a,b', NULL), string_to_array('', ','), array_to_string(ARRAY['a', NULL, 'b'], '-', '*');
SELECT id FROM te_t WHERE t LIKE '%a%';
SELECT id FROM te_t WHERE t LIKE '100\%\_%' OR v LIKE 'a\\b';
SELECT id FROM te_t WHERE t LIKE '100!%%' ESCAPE '!';
SELECT id FROM te_t WHERE t ILIKE 'HELLO' OR v ILIKE '%SMILE';
SELECT id FROM te_t WHERE t NOT LIKE '_e%';
SELECT 'a' LIKE 'A', 'abc' LIKE '_b_', 'abc' LIKE 'ab', '' LIKE '', '' LIKE '%', NULL LIKE 'a', 'a' LIKE NULL, '日本' LIKE '_本', 'a%' LIKE 'a\%';
SELECT id FROM te_t WHERE t ~ '^[A-Z]' OR v ~* 'WORLD';
SELECT 'abc' ~ 'b', 'abc' !~ '^b', 'ABC' ~* 'b', 'a.c' ~ 'a\.c', 'line' ~ '^l.*e$', '' ~ '^$';
SELECT 'abc' SIMILAR TO '(a|b)%', 'abc' SIMILAR TO 'a', 'a1' SIMILAR TO '[a-z][0-9]';
SELECT regexp_replace('foobarbaz', 'b..', 'X'), regexp_replace('foobarbaz', 'b..', 'X', 'g'), regexp_replace('ab12', '(\w)(\d)', '\2\1', 'g');
SELECT regexp_match('foobarbequebaz', 'bar.*que'), substring('foobar' FROM 'o(.)b'), regexp_split_to_array('a1b22c', '\d+'), regexp_count('abcabc', 'b'), regexp_like('Abc', 'a', 'i');
-- ordered
SELECT id, t FROM te_t ORDER BY t, id;
-- ordered
SELECT id, v FROM te_t ORDER BY v DESC NULLS LAST, id;
SELECT 'a' < 'b', 'a' < 'B', 'Z' < 'a', 'a' < 'ab', '' < 'a', 'é' > 'z', '日' > 'é', '10' < '9';
SELECT 'abc' = 'abc ', 'abc'::char(5) = 'abc '::char(9), 'abc'::char(5) = 'abc'::text, 'abc '::text = 'abc'::char(5);
SELECT max(t), min(t), max(v), min(c) FROM te_t;
SELECT upper('straße'), lower('ÀÉÎ'), upper('é'), length('é'), length(E'e\u0301'), 'é' = E'e\u0301';
SELECT t FROM te_t WHERE t > 'a' AND t < 'z';
SELECT id FROM te_t WHERE t IN ('Hello', '日本語テキスト', NULL);
SELECT coalesce(t, 'none'), nullif(t, ''), coalesce(v, t, '?') FROM te_t;
SELECT v::char(3), t::varchar(4), c::text || '|', cast('abc  ' AS char(10)) || 'x' FROM te_t WHERE id IN (1, 4, 5, 6);
SELECT count(DISTINCT c), count(DISTINCT lower(t)) FROM te_t;
SELECT unnest(string_to_array('x y z', ' '));
SELECT regexp_matches('a1b2', '[a-z]\d', 'g');
SELECT to_char(12.5, '99.99'), to_number('12,454.8-', '99G999D9S'), ascii(chr(233));
SELECT normalize(E'e\u0301') = 'é', 'x' IS NORMALIZED;
SELECT string_agg(t, '|' ORDER BY id), string_agg(DISTINCT left(v, 1), '' ORDER BY left(v, 1)) FROM te_t;
SELECT 'Δ' || lower('Δ'), upper('ĳ'), length('👨‍👩‍👧'), substring('👨‍👩‍👧x' FROM 6), reverse('añb'), position('語' IN '日本語');
INSERT INTO te_t (id, v) VALUES (20, repeat('é', 20));
-- error 22001
INSERT INTO te_t (id, v) VALUES (21, repeat('x', 21));
-- error 22001
INSERT INTO te_t (id, c) VALUES (21, '123456789');
INSERT INTO te_t (id, c) VALUES (22, '12345678     ');
SELECT id, length(v), c FROM te_t WHERE id >= 20;
-- error 42883
SELECT length(5);
-- error 42883
SELECT upper(1);
-- error 42883
SELECT nosuchfunction('a');
-- error 22023
SELECT split_part('a', ',', 0);
-- error 2201B
SELECT 'a' ~ '(';
-- error 22025
SELECT 'ab' LIKE 'a\';
-- error 22011
SELECT substring('abc', 1, -1);
-- error 54000
SELECT chr(1114112);
-- error 42725
SELECT '1' + '2';
-- error 42601
SELECT 'unterminated;
-- error 22021
SELECT E'\xff';
SELECT to_number('12-', '000.0PR'), to_number('<12>', '000.0PR'), to_number('-12', '000.0PR'), to_number('<7>', '000.0'), to_number('12-', '999'), to_number('5.01-', 'FM9.999999MI'), to_number('1,234.5', 'FM9,999.9'), to_number('12345', '9V99');
-- error 22003
SELECT to_number('1,234.5', '000.0PR');
-- error 22003
SELECT to_number('1234.56', '99.9');
SELECT to_char('NaN'::float8, '999D9G9'), to_char('NaN'::float8, '9999.99x'), to_char('-Infinity'::float8, 'S99.9'), to_char('Infinity'::float8, '9th'), to_char(123, '9th'), to_char('NaN'::float8, '999MI');
SELECT to_char(1e10, '999DG9'), to_char(12.34, '99DG99'), to_char(12.34, '99D9G9'), to_char(12.3, 'FM99D9G9G9'), to_char(1234.5, '9G999DG9');
SELECT regexp_replace('abc', '.*?a', '<\&>', ''), regexp_replace(v, '.*?b', '<\&>', 'g') FROM (VALUES ('abcabc'), ('xb')) AS t(v);
-- A digit takes one byte of a longer character.
SELECT to_number('é42', '999'), to_number('日42', '9999'), to_number('$日42', 'L9999'), to_number('日42', 'L9999'), to_number('日42', '"a"9999');
-- error 22P02
SELECT to_number('日42>', '99PR');
-- characters that other cases have several of, or others at a word's end; marks that stand behind their letter
SELECT id, upper(s), lower(s), reverse(s) FROM te_c;
SELECT id, upper(s || 'ᾀᾳῼŉﬁᾲ'), initcap(s || ' ᾀἄ ᾲ'), lower('ᾈᾼ' || s) FROM te_c;
SELECT id FROM te_c WHERE s ILIKE '%ς' OR s ILIKE 'i%' OR s ILIKE '%k';
SELECT id FROM te_c WHERE s ILIKE '%σ' OR s NOT ILIKE '%i';
SELECT lower(s), count(*) FROM te_c GROUP BY 1;
-- a char(n) is matched with its blanks
SELECT id FROM te_c WHERE c LIKE 'a' OR c LIKE 'b c';
SELECT id FROM te_c WHERE c LIKE 'a    ' OR c LIKE 'abcde' OR c ILIKE 'AB___';
SELECT id FROM te_c WHERE c NOT LIKE 'a' AND c NOT ILIKE 'B%';
-- char(n) as the key of a JSON object has its blanks
SELECT id, jsonb_build_object(c, id), json_build_object(c, c), JSON_OBJECT(c: id) FROM te_c WHERE c IS NOT NULL;
SELECT jsonb_object_agg(c, id), json_object_agg(c, id ORDER BY id) FROM te_c WHERE c IS NOT NULL;
-- a text beside constant arrays
SELECT id, v <> ALL ('{}'::text[]), v = ANY ('{World,x}'::varchar[]), jsonb_build_object(v, 1) #>> '{World}' FROM te_t WHERE id = 1;
-- beyond ASCII every character is a letter of an identifier, and stays as it is
SELECT parse_ident(x) FROM (VALUES ('Ǆ.ÄB'), ('😀A😀.B$1'), ('e' || chr(769)), ('a' || chr(160) || 'B'), ('"Ä""B" . C_2')) AS v(x);
-- error 22023
SELECT parse_ident('1é');
-- nothing to fill with makes no text longer
SELECT rpad(t, 2147483647, ''), lpad(t, 300000000, ''), rpad(t, 2, '') FROM te_t;

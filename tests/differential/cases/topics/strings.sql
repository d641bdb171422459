-- Character strings: quoting, substrings, positions, padding, LIKE, patterns, case, bytes, types of strings.
-- setup
CREATE TABLE tst (id integer, t text, v varchar(8), c char(5));
INSERT INTO tst VALUES (1, 'doh!', 'hi de ho', 'ab'), (2, 'Hello World', 'x', 'abc  '), (3, '', '', ''), (4, NULL, NULL, NULL), (5, 'ünïcödé', 'naïve', 'é'), (6, 'a_b%c\d', '100%', '  x');
-- cases
SELECT 'first line'
' - next line'
' - third line' AS three;
SELECT U&'d\0061t\+000061' AS data, U&'d!0061t\+000061' UESCAPE '!', U&'\\', U&'a\\b';
SELECT E'a\\bcd\'e\n\t\x41\101\u00e9\U0001F600', 'it''s', $$a'b$$, $q$a$$b$q$;
SELECT 'a\nb', E'a\bc' = 'a' || chr(8) || 'c', length(E'\\');
SELECT id, t || '|' || v || '|' || c FROM tst;
SELECT id, length(t), length(v), length(c), octet_length(t), octet_length(c), char_length(t), bit_length(v) FROM tst;
SELECT substring('1234567890' FROM 3), substring('1234567890' FROM 4 FOR 3), substring('string' FROM 2 FOR 2147483646), substring('string' FROM -10 FOR 12), substring('abc' FOR 2);
SELECT substr('abcdef', 2), substr('abcdef', -1, 3), substr('abcdef', 3, 0), substring(t, 2, 4) FROM tst;
SELECT substring('abcdefg' FROM 'c.e'), substring('foobar' FROM 'o(.)b'), substring('abc' FROM 'x');
SELECT substring('abcdefg' SIMILAR 'a#"(b_d)#"%' ESCAPE '#'), substring('abcdefg' FROM 'a#"%#"g' FOR '#');
SELECT position('4' IN '1234567890'), position('5' IN '1234567890'), position('' IN 'abc'), strpos('high', 'ig'), strpos('abc', 'z');
SELECT overlay('abcdef' PLACING '45' FROM 4), overlay('yabadoo' PLACING 'daba' FROM 5), overlay('yabadoo' PLACING 'daba' FROM 5 FOR 0), overlay('babosa' PLACING 'ubb' FROM 2 FOR 4);
SELECT trim(BOTH FROM '  bunch o blanks  ') = 'bunch o blanks', trim(LEADING FROM '  x ') = 'x ', trim(TRAILING FROM ' x  ') = ' x', trim(BOTH 'x' FROM 'xxxxsome Xsxxxxx'), trim('xy' FROM 'yxTomxx');
SELECT btrim('xyxtrimyyx', 'xyz'), ltrim('zzzytest', 'xyz'), rtrim('testxxzx', 'xyz'), ltrim('  a'), rtrim('a  ') || '|';
SELECT lpad('hi', 5), lpad('hi', 5, 'xy'), lpad('hi', 1), rpad('hi', 5, '!') , rpad('hello', 2), lpad('', 3, 'a'), rpad('a', 3, '');
SELECT upper(t), lower(t), initcap(t) FROM tst;
SELECT reverse('abcde'), repeat('Pg', 3), repeat('x', 0), repeat('x', -1), left('abcde', 2), left('abcde', -2), right('abcde', 2), right('abcde', -2);
SELECT replace('abcdef', 'de', '45'), replace('aaa', 'a', 'bb'), replace('abc', '', 'x'), translate('12345', '143', 'ax'), translate('abc', 'abc', '');
SELECT split_part('joeuser@mydatabase', '@', 1), split_part('a,b,c', ',', -1), split_part('a,b,c', ',', 5), split_part('abc', '', 1);
SELECT concat('a', NULL, 1, true, 2.50), concat_ws(',', 'a', NULL, 'b', 3), concat_ws(NULL, 'a');
SELECT format('Hello %s, %I and %L', 'World', 'my col', 'it''s'), format('%2$s %1$s', 'a', 'b'), format('%5s|%-5s|', 'x', 'y'), format('%%'), format('%L', NULL);
SELECT ascii('x'), ascii('é'), chr(65), chr(233), to_hex(255), to_hex(-1), md5('hello');
SELECT quote_ident('my col'), quote_ident('abc'), quote_ident('select'), quote_literal('it''s'), quote_literal(E'a\\b'), quote_nullable(NULL), quote_literal(42);
SELECT 'hawkeye' LIKE 'h%', 'hawkeye' LIKE 'H%', 'hawkeye' NOT LIKE 'indio%', 'hawkeye' LIKE 'h_wk%', 'hawkeye' ILIKE 'H%Eye', 'indio' LIKE '_ndio';
SELECT 'h%' LIKE 'h#%' ESCAPE '#', 'ahoy' LIKE 'h#%' ESCAPE '#', 'h%wkeye' LIKE 'h#%%' ESCAPE '#', 'm%aca' LIKE 'm%%%aca' ESCAPE '%', 'a\b' LIKE 'a\\b', 'a_b' LIKE 'a\_b';
SELECT id FROM tst WHERE t LIKE '%\_%' OR t LIKE '%o%';
SELECT 'abc' SIMILAR TO 'abc', 'abc' SIMILAR TO 'a', 'abc' SIMILAR TO '%(b|d)%', 'abc' SIMILAR TO '(b|c)%', 'abd' NOT SIMILAR TO 'ab[^d]';
SELECT 'abc' ~ 'b', 'abc' ~* 'B', 'abc' !~ 'x', 'abc' !~* 'B', 'foo.bar' ~ '\.', 'a' ~ '^[[:alpha:]]$', 'ab12' ~ '\d+$', '' ~ '^$';
SELECT regexp_replace('1112223333', '(\d{3})(\d{3})(\d{4})', '(\1) \2-\3'), regexp_replace('AAA   BBB   CCC', '\s+', ' ', 'g'), regexp_replace('AAA', '^|$', 'Z', 'g'), regexp_replace('abc', 'B', 'x', 'i');
SELECT regexp_replace('aaaa', 'a', 'b', 2), regexp_replace('aaaa', 'a', 'b', 1, 3), regexp_replace('Thomas', '.[mN]a.', 'M');
SELECT regexp_matches('foobarbequebaz', '(bar)(beque)'), regexp_match('foobarbequebaz', 'bar.*que'), regexp_match('abc', 'x');
SELECT regexp_matches('foobarbequebazilbarfbonk', '(b[^b]+)(b[^b]+)', 'g');
SELECT regexp_split_to_array('the quick brown fox', '\s+'), regexp_split_to_array('123', ''), regexp_split_to_array('a1b2', '[0-9]');
SELECT foo, length(foo) FROM regexp_split_to_table('the quick brown fox jumps', '\s+') AS foo;
SELECT regexp_count('123123', '1'), regexp_instr('abcabc', 'c', 4), regexp_substr('abcabc', 'b.'), regexp_like('Steven', '^Ste(v|ph)en$');
SELECT string_to_array('1|2|3', '|'), string_to_array('abc', NULL), string_to_array('1,2,,3', ',', ''), array_to_string(ARRAY[1, NULL, 3], ','), array_to_string(ARRAY['a', NULL], ',', '*');
SELECT string_to_table('a,b,c', ','), starts_with('alphabet', 'alph'), 'alphabet' ^@ 'bet';
SELECT 'abc' < 'abd', 'a' < 'B', 'abc' = 'abc  ', 'ab'::char(5) = 'ab   ', 'ab '::char(3) = 'ab'::char(5), 'a'::char(2) || 'b';
SELECT 'abcdef'::varchar(3), 'abc'::char(5) || '|', 'abcdef'::char(3), cast('x' AS text), 'name'::name, text 'abc', varchar 'x';
SELECT c || '|', c::text || '|', c::varchar || '|', length(c::text) FROM tst WHERE id < 3;
SELECT id FROM tst WHERE c = 'ab' OR v = 'x' OR t = '';
-- ordered
SELECT t FROM tst ORDER BY t NULLS FIRST;
-- ordered
SELECT v FROM tst ORDER BY lower(v) DESC NULLS LAST, id;
SELECT min(t), max(t), min(c), string_agg(t, '/' ORDER BY id) FROM tst;
SELECT '\xDEADBEEF'::bytea, E'\\x41'::bytea, 'abc'::bytea, encode('abc', 'hex'), decode('YWJj', 'base64'), encode('\x00ff', 'escape'), convert_to('é', 'UTF8');
SELECT substring('\x0102030405'::bytea FROM 2 FOR 2), length('\x0102'::bytea), '\x01'::bytea || '\x02', position('\x02'::bytea IN '\x010203'), overlay('\x010203'::bytea PLACING '\xff' FROM 2), trim('\x00'::bytea FROM '\x000100'::bytea), get_byte('\x0aff', 1);
SELECT sha256('abc'), md5('\x616263'::bytea), encode(sha512('')::bytea, 'base64') LIKE 'z4P%', crc.x FROM (SELECT 1 AS x) crc;
-- error 42601
SELECT 'x' 'y';
-- error 22011
SELECT substring('abc' FROM 1 FOR -1);
-- error 2201B
SELECT 'abc' ~ '(';
SELECT 'a' LIKE 'a\';
-- error 54000
SELECT lpad('x', -1), chr(0);
-- error 22023
SELECT decode('zz', 'hex');
-- error 22023
SELECT encode('abc', 'nothing');
-- error 42601
SELECT 'toolong'::varchar(3) = 'too', U&'\zzzz';
-- error 22023
SELECT split_part('a', 'b', 0);
-- error 42883
SELECT upper(5);
-- error 42883
SELECT 'a' + 'b'::text;
-- error 42883
SELECT length(5, 'a');
-- error 42883
SELECT repeat('ab', 2, 3);

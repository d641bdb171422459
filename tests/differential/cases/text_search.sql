-- Full-text search: documents, queries, matches, ranks and headlines.
-- setup
CREATE TABLE ts_doc (id integer PRIMARY KEY, lang text, body text, v tsvector GENERATED ALWAYS AS (to_tsvector('english', body)) STORED);
INSERT INTO ts_doc (id, lang, body) VALUES
  (1, 'en', 'The quick brown foxes jumped over the lazy dogs'),
  (2, 'en', 'Star-gazing at http://example.com/stars?x=1 with joe.doe@example.org, 3.14 times'),
  (3, 'en', 'A fat cat sat on a mat and ate a fat rat'),
  (4, 'en', 'it''s a fat-free day: rats & cats <b>everywhere</b> &amp; running 1st/2nd'),
  (5, 'en', NULL), (6, 'en', ''), (7, 'en', 'the of and'),
  (8, 'de', 'Die Katzen jagten die Häuser hinunter'),
  (9, 'en', 'super-novae are supernovae; stars are stars /usr/local/lib v1.2.3 -42 +7 1e10');
CREATE INDEX ts_gin ON ts_doc USING gin (v);
CREATE INDEX ts_gin2 ON ts_doc USING gin (to_tsvector('english', body));
-- messages
SET default_text_search_config = 'pg_catalog.english';
SHOW default_text_search_config;
SELECT id, v FROM ts_doc ORDER BY id;
SELECT id, to_tsvector('simple', body), to_tsvector('german', body), length(v), strip(v) FROM ts_doc ORDER BY id;
SELECT get_current_ts_config(), to_tsvector('fat cats ate rats'), to_tsquery('fat & rats'), 'a fat cat'::text @@ 'cats', 'fat cats'::text @@ to_tsquery('cat');
SELECT id FROM ts_doc WHERE v @@ to_tsquery('english', 'cat & rat') ORDER BY id;
SELECT id FROM ts_doc WHERE v @@ to_tsquery('english', 'fat <-> cat | star:*') ORDER BY id;
SELECT id FROM ts_doc WHERE v @@ to_tsquery('!cat') ORDER BY id;
SELECT id FROM ts_doc WHERE to_tsquery('fox') @@ v OR body @@ 'stars' ORDER BY id;
SELECT id, v @@ plainto_tsquery('fat rats'), v @@ phraseto_tsquery('fat rat'), v @@ websearch_to_tsquery('"fat rat" or star -mat') FROM ts_doc ORDER BY id;
SELECT d.id, q FROM ts_doc d, websearch_to_tsquery('english', 'fat or fox') AS q WHERE d.v @@ q ORDER BY d.id;
SELECT id, ts_rank(v, q), ts_rank_cd(v, q), ts_rank('{0.1,0.2,0.4,1}', v, q, 1), ts_rank_cd('{0.5,0.5,0.5,1}', v, q, 32) FROM ts_doc, to_tsquery('fat & rat | star') AS q ORDER BY id;
SELECT id, ts_headline('english', body, to_tsquery('cat | fox | star')), ts_headline(body, to_tsquery('fat'), 'StartSel=<i>, StopSel=</i>, MaxWords=5, MinWords=2') FROM ts_doc ORDER BY id;
SELECT ts_headline(body, to_tsquery('fat & rat'), 'MaxFragments=2, MaxWords=4, MinWords=1, FragmentDelimiter=" // "'), ts_headline('simple', body, 'rat', 'HighlightAll=true') FROM ts_doc WHERE id = 3;
SELECT to_tsquery('fat:ab & (rat | !cat:*) <2> dog'), to_tsquery('simple', '''a b'' & c'), to_tsquery('the & fat <-> the <-> cat'), to_tsquery('foo-bar');
SELECT plainto_tsquery('The Fat & Rats:C'), phraseto_tsquery('english', 'the cat and the rats'), websearch_to_tsquery('english', '"supernovae stars" -crab or "sad cat"'), websearch_to_tsquery('""" )( dummy \\ query <->');
SELECT 'a & b'::tsquery && 'c', 'a'::tsquery || 'b | c', !! 'a & b'::tsquery, 'a'::tsquery <-> 'b', tsquery_phrase('a', 'b', 10), 'a & b'::tsquery @> 'b', 'b'::tsquery <@ 'a & b', numnode('(a & b) | !c'), querytree('a & !b'), querytree('!a'), querytree('a | !b');
SELECT 'a:1 b:2'::tsvector || 'c:1 d:2 b:3', setweight('fat:2,4 cat:3 rat:5B'::tsvector, 'A'), setweight('fat:2,4 cat:3 rat:5,6B'::tsvector, 'A', '{cat,rat}'), ts_delete('fat:2,4 cat:3'::tsvector, 'fat'), ts_delete('a b c'::tsvector, ARRAY['a', 'z']), ts_filter('fat:2,4 cat:3b,7c rat:5A'::tsvector, '{a,b}');
SELECT tsvector_to_array('fat:2,4 cat:3 rat:5A'::tsvector), array_to_tsvector(ARRAY['fat', 'cat', 'rat', 'fat']), length('fat:2,4 cat:3'::tsvector), 'a:1'::tsvector = 'a:1', 'a:1'::tsvector <> 'a:2';
SELECT ts_lexize('english_stem', 'stars'), ts_lexize('english_stem', 'a'), ts_lexize('simple', 'Stars'), 'english'::regconfig, 'german_stem'::regdictionary::text;
SELECT E'''a ''''b'' ''c\\\\d'':3A,1 e:65535'::tsvector, ''::tsvector, ''::tsquery, '  x  y:1,1A  x:3'::tsvector;
SELECT to_tsvector('{"a": "fat cats", "b": [1, "rats", {"c": "dogs"}], "d": true}'::jsonb), to_tsvector('english', '{"z": "stars", "a": "sun"}'::json), ts_headline('{"a": "fat cats"}'::json, 'cat'::tsquery);
SELECT NULL::tsvector @@ 'a', 'a'::tsvector @@ NULL, to_tsvector(NULL::text), ts_rank(NULL, 'a'::tsquery);
SELECT v, count(*) FROM ts_doc WHERE id IN (5, 6, 7) GROUP BY v ORDER BY count(*), v IS NULL;
SELECT to_json('a:1'::tsvector), to_jsonb('a & b'::tsquery), ARRAY['a b'::tsvector, 'c'], '{"a b",c}'::tsvector[], pg_typeof('a'::tsvector), format_type('tsquery'::regtype, NULL);
SELECT to_tsvector('russian', 'Кошки бегут'), to_tsvector('french', 'les chevaux de l''été'), to_tsvector('spanish', 'los perros corriendo'), to_tsvector('finnish', 'taloissa'), to_tsvector('turkish', 'evlerinden');
UPDATE ts_doc SET body = body || ' zebras' WHERE v @@ 'fox' RETURNING id, v;
SELECT id FROM ts_doc WHERE v @@ 'zebra'::tsquery;
SET default_text_search_config = 'simple';
SELECT to_tsvector('The Cats'), to_tsquery('Cats');
RESET default_text_search_config;
-- error 42704
SELECT to_tsvector('nowhere', 'x');
-- error 42601
SELECT to_tsquery('fat rat');
-- error 42601
SELECT 'a &'::tsquery;
-- error 42601
SELECT '''a'::tsvector;
-- error 42601
SELECT 'a:0'::tsvector;
-- error 22023
SET default_text_search_config = 'nowhere';
-- error 22023
SELECT ts_headline('a b', 'a'::tsquery, 'MinWords=9, MaxWords=5');
-- error 22023
SELECT ts_rank('{2,1,1,1}', 'a:1', 'a'::tsquery);
-- error 2202E
SELECT ts_rank('{0.1}', 'a:1', 'a'::tsquery);
-- error 42883
SELECT 'a'::tsvector @@ 'a'::text;
-- cases
SELECT * FROM unnest('a:1'::tsvector);
-- refused 0A000: vectors sort by their text
SELECT 'a:1'::tsvector < 'b:1';

-- Full-text search: the steps of parsing, parts and statistics of vectors, rewritten queries, and triggers that keep vectors.
-- setup
CREATE TABLE fx (id int, t text, b varchar(100), v tsvector);
INSERT INTO fx VALUES (1, 'the fat cat', 'sat on a mat', NULL), (2, NULL, 'a rat', NULL);
-- cases
SELECT * FROM unnest('cat:3 fat:2,4A rat:5B,6C'::tsvector);
SELECT * FROM unnest('a b c'::tsvector) AS u(l, p, w);
SELECT id, u.* FROM fx, unnest(to_tsvector('english', b)) u;
SELECT unnest('cat:3 dog'::tsvector);
SELECT (unnest('cat:3 dog'::tsvector)).lexeme;
SELECT * FROM ts_parse('default', 'foo - bar http://a.com/x?y=1 12.5 a-b');
SELECT * FROM ts_parse(3722, '123 - a number');
SELECT id, p.* FROM fx, ts_parse('default', t) p;
-- error 42704
SELECT * FROM ts_parse('nope', 'x');
SELECT * FROM ts_token_type('default');
SELECT * FROM ts_token_type(3722) WHERE tokid < 4;
SELECT * FROM ts_debug('english', 'a fat  cat sat on a mat - it ate a fat rats');
SELECT * FROM ts_debug('simple', 'The Brightest http://a.b/c 4.5');
SELECT alias, token, lexemes FROM ts_debug('The Cats');
SELECT ts_rewrite('a & b'::tsquery, 'a'::tsquery, 'c'::tsquery);
SELECT ts_rewrite('a & b & c'::tsquery, 'a & b'::tsquery, 'x | y'::tsquery);
SELECT ts_rewrite('(wd & de & !ae) | fg', 'de & wd', 'p & q & r');
SELECT ts_rewrite('foo & bar & qq & new & york', 'new & york'::tsquery, 'big & apple | nyc | new & york & city');
SELECT ts_rewrite('a & b', 'c', 'd'), ts_rewrite('b & a', 'c', 'd'), ts_rewrite('x | y | z', 'y', ''), ts_rewrite('a', 'a', ''), ts_rewrite('', 'a', 'b'), ts_rewrite('!a', 'a', 'b & c'), ts_rewrite('!a', '!a', 'b');
SELECT ts_rewrite('moscow & hotel', 'moscow', 'moskva | moscow'), ts_rewrite('1 & (2 <2> 3)', '2 <2> 3', '4'), ts_rewrite('1 & (2 <2> 3)', '2 <-> 3', '4'), ts_rewrite('5 <-> (1 & (2 <-> 3))', '2 <-> 3', '2 <-> 4'), ts_rewrite('5 & (6 | 5)', '5', '7'), ts_rewrite('a:A & b:*', 'a', 'c:B');
SELECT ts_rewrite('a & b & c & d', 'd & b', 'e'), ts_rewrite('a | (b & c)', 'c & b', 'z'), ts_rewrite('a & (b & (c & d))', 'a & d', NULL), ts_rewrite('(a | b) & (a | b)', 'b | a', 'q');
CREATE TABLE fx_al (t tsquery, s tsquery);
INSERT INTO fx_al VALUES ('new & york', 'big & apple | nyc | new & york & city'), ('moscow', 'moskva | moscow'), ('sanct & peter', 'peterburg | peter | (sanct & peterburg)'), ('foo & bar & qq', 'foo & (bar | qq) & city'), (NULL, 'x'), ('y', NULL), ('1 & (2 <-> 3)', '2 <-> 4'), ('5 <-> 6', '5 <-> 7');
SELECT ts_rewrite('foo & bar & qq & new & york', 'SELECT t, s FROM fx_al ORDER BY t::text'), ts_rewrite('moscow', 'SELECT t, s FROM fx_al'), ts_rewrite('moscow & hotel', 'SELECT t, s FROM fx_al'), ts_rewrite('x', 'SELECT t, s FROM fx_al WHERE false');
SELECT ts_rewrite('1 & (2 <-> 3)', 'SELECT t, s FROM fx_al'), ts_rewrite('5 <-> (1 & (2 <-> 3))', 'SELECT t, s FROM fx_al'), ts_rewrite('bar & qq & foo & (new <-> york)', 'SELECT t, s FROM fx_al');
-- error 22023
SELECT ts_rewrite('a', 'SELECT 1');
SELECT * FROM ts_stat('SELECT to_tsvector(''english'', b) FROM fx');
SELECT * FROM ts_stat('SELECT v FROM (VALUES (''a:1A,2B b c:3''::tsvector), (''a:4D c:5A''), (NULL)) x(v)', 'ab') ORDER BY word;
SELECT * FROM ts_stat('SELECT v FROM (VALUES (''a:1A,2B b c:3''::tsvector), (''a:4D c:5A''), (NULL)) x(v)') AS s(w, d, n) ORDER BY n DESC, d DESC, w LIMIT 2;
-- error 22023
SELECT * FROM ts_stat('SELECT 1');
-- error 42P01
SELECT * FROM ts_stat('SELECT v FROM nope');
CREATE TRIGGER tv BEFORE INSERT OR UPDATE ON fx FOR EACH ROW EXECUTE FUNCTION tsvector_update_trigger(v, 'pg_catalog.english', t, b);
UPDATE fx SET t = t;
SELECT * FROM fx;
INSERT INTO fx (id, t, b) VALUES (3, 'running dogs', 'ran');
UPDATE fx SET v = 'own' WHERE id = 1;
UPDATE fx SET id = 20 WHERE id = 2;
SELECT * FROM fx;
SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgname = 'tv';
SELECT tgfoid::regproc, tgnargs FROM pg_trigger WHERE tgname = 'tv';
INSERT INTO fx SELECT n, 'cats ' || n, 'rats' FROM generate_series(100, 140) n;
SELECT count(*) FROM fx WHERE v @@ 'cat & rat'::tsquery;
DROP TRIGGER tv ON fx;
CREATE TRIGGER tv BEFORE INSERT ON fx FOR EACH ROW EXECUTE FUNCTION tsvector_update_trigger(v, 'english', t);
-- error 22023
INSERT INTO fx VALUES (4, 'x');
DROP TRIGGER tv ON fx;
CREATE TRIGGER tv BEFORE INSERT ON fx FOR EACH ROW EXECUTE FUNCTION tsvector_update_trigger(nope, 'pg_catalog.english', t);
-- error 42703
INSERT INTO fx VALUES (4, 'x');
DROP TRIGGER tv ON fx;
CREATE TRIGGER tv BEFORE INSERT ON fx FOR EACH ROW EXECUTE FUNCTION pg_catalog.tsvector_update_trigger(v, 'pg_catalog.english', id);
-- error 42804
INSERT INTO fx VALUES (4, 'x');
DROP TRIGGER tv ON fx;
CREATE TRIGGER tv BEFORE INSERT ON fx FOR EACH ROW EXECUTE FUNCTION tsvector_update_trigger(v);
-- error XX000
INSERT INTO fx VALUES (4, 'x');
DROP TRIGGER tv ON fx;
CREATE TRIGGER tv AFTER INSERT ON fx FOR EACH ROW EXECUTE FUNCTION tsvector_update_trigger(v, 'pg_catalog.english', t);
-- error XX000
INSERT INTO fx VALUES (4, 'x');
DROP TRIGGER tv ON fx;
CREATE TRIGGER tr BEFORE UPDATE ON fx FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger();
UPDATE fx SET t = t WHERE id < 3;
UPDATE fx SET t = 'new' WHERE id < 3;
DROP TRIGGER tr ON fx;
CREATE TRIGGER tr BEFORE INSERT ON fx FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger();
-- error 39P01
INSERT INTO fx VALUES (5, 'x');
SELECT tsvector_to_array('cat:3 fat:2'::tsvector), array_to_tsvector(ARRAY['b', 'a']);

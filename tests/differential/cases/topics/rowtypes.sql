-- Rows as values: a relation's star where one value is wanted, its columns in lists, and functions written as fields.
-- setup
CREATE TABLE tr_item (a integer, b text);
INSERT INTO tr_item VALUES (1, 'x'), (2, 'y'), (NULL, NULL);
CREATE TABLE tr_price (a integer, c integer);
INSERT INTO tr_price VALUES (1, 10), (3, 30);
-- cases
SELECT count(tr_item.*) FROM tr_item;
SELECT p.a, count(i.*) FROM tr_price p LEFT JOIN tr_item i ON i.a = p.a GROUP BY p.a;
SELECT count(DISTINCT i.*) FROM tr_item i;
SELECT row_to_json(i.*) FROM tr_item i;
SELECT json_agg(p.*) FROM tr_price p;
SELECT row_to_json(m.*) FROM tr_item JOIN tr_price USING (a) AS m;
SELECT (i.*)::text FROM tr_item i;
SELECT i.* IS NULL, i.* IS NOT NULL FROM tr_item i;
SELECT coalesce(i.*, NULL) FROM tr_item i;
SELECT ARRAY[i.*] FROM tr_item i;
SELECT ROW(i.*, 1) FROM tr_item i;
SELECT i.* = ROW(2, 'y')::tr_item FROM tr_item i;
SELECT b FROM tr_item i WHERE i.* = ROW(2, 'y')::tr_item;
SELECT x.* IS DISTINCT FROM y.* FROM tr_item x, tr_item y WHERE x.a = 1;
SELECT max((i.*)::text) FROM tr_item i;
SELECT i.a, (i).b, a(i), b(i) FROM tr_item i;
SELECT (SELECT (i.*)::text) FROM tr_item i;
SELECT v.* FROM tr_item i, LATERAL (VALUES (i.*)) v;
SELECT (SELECT * FROM (SELECT 1 AS one) s);
SELECT (SELECT a FROM tr_item WHERE a = 1), (SELECT a + 1 FROM tr_item WHERE a = 1), (VALUES (7));
SELECT (SELECT b AS named FROM tr_item WHERE a = 1)::varchar;
INSERT INTO tr_item SELECT s.* FROM (VALUES (4, 'w')) s;
UPDATE tr_item SET (a, b) = ROW(v.*) FROM (VALUES (5, 'five')) v(i, j) WHERE tr_item.a = 4;
MERGE INTO tr_price USING (SELECT 7 AS a, 70 AS b) s ON tr_price.a = s.a WHEN NOT MATCHED THEN INSERT VALUES (s.*);
TABLE tr_item;
TABLE tr_price;
UPDATE tr_item SET b = 'far' FROM LATERAL (SELECT * FROM tr_price WHERE c = 10) s WHERE s.a = tr_item.a RETURNING b;
SELECT * FROM tr_item x JOIN (tr_price x CROSS JOIN tr_price y(ff, gg)) j ON x.a = c;
SELECT (i).* FROM tr_item i WHERE (i).a = 1;
-- messages
-- error 42804
UPDATE tr_item SET a = v.* FROM (VALUES (1, 2)) v;
-- error 42883
SELECT upper(tr_item.*) FROM tr_item;
-- error 42703
SELECT tr_item.upper FROM tr_item;
-- error 42883
SELECT text(tr_item) FROM tr_item;
-- error 42P01
SELECT count(nothing.*) FROM tr_item;
-- error 42P10
SELECT * FROM (tr_item JOIN tr_price USING (a)) j(a, b, c, d);
-- error 42712
SELECT * FROM (tr_item x CROSS JOIN tr_price x) j;
-- error 42702
SELECT * FROM tr_item x JOIN (tr_price x CROSS JOIN tr_price y) j ON x.a = c;
-- error 42P09
SELECT * FROM tr_item x CROSS JOIN (tr_price x CROSS JOIN LATERAL (SELECT x.a) ss);
-- error 42P10
UPDATE tr_item SET b = 'q' FROM LATERAL (SELECT * FROM tr_price p WHERE p.a = tr_item.a) s;
-- error 42P10
DELETE FROM tr_item USING LATERAL (SELECT * FROM tr_price p WHERE p.a = tr_item.a) s;

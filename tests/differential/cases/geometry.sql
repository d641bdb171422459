-- Geometric types beside their operators: literals, casts, columns, subscripts, arrays, order, what they lack.
-- cases
SELECT point '1,2', point ' ( 1 , 2 ) ', point '(1e2,-0)', point '(NaN,Infinity)', point '(.5,0x10)';
SELECT line '{1,2,3}', line '[(0,0),(1,1)]', line '(0,0),(0,5)', line '1,2,3,2', line ' { 1 , -1.5 , 0 } ';
SELECT lseg '[(1,2),(3,4)]', lseg '(1,2),(3,4)', lseg '((1,2),(3,4))', lseg '1,2,3,4', lseg ' [ ( 1 , 2 ) , ( 3 , 4 ) ] ';
SELECT box '(1,2),(3,4)', box '((3,4),(1,2))', box '1,4,3,2', box '((-1,NaN),(5,6))';
SELECT path '[(1,2),(3,4)]', path '((1,2),(3,4))', path '(1,2),(3,4)', path '(1,2,3,4)', path '1,2,3,4', path ' [ ( 1 , 2 ) ] ';
SELECT polygon '((1,2),(3,4),(5,6))', polygon '(1,2),(3,4)', polygon '(1,2,3,4)', polygon '1,2,3,4';
SELECT circle '<(1,2),3>', circle '((1,2),3)', circle '(1,2),3', circle '1,2,3', circle ' < ( 1 , 2 ) , 3 > ', circle '<(1,2),NaN>';
-- error 22P02
SELECT point '(1,2';
-- error 22P02
SELECT point '1';
-- error 22P02
SELECT point '(1,2) x';
-- error 22P02
SELECT point '';
-- error 22003
SELECT point '(1e400,2)';
-- error 22P02
SELECT line '{0,0,1}';
-- error 22P02
SELECT line '{1,2}';
-- error 22P02
SELECT line '[(1,1),(1,1)]';
-- error 22P02
SELECT lseg '[(1,2),(3,4)';
-- error 22P02
SELECT lseg '(1,2),(3,4),(5,6)';
-- error 22P02
SELECT box '[(1,2),(3,4)]';
-- error 22P02
SELECT box '(1,2)';
-- error 22P02
SELECT path '[]';
-- error 22P02
SELECT path '[(1,2),(3,4)';
-- error 22P02
SELECT path '[(1,2),(3)]';
-- error 22P02
SELECT polygon '[(1,2),(3,4)]';
-- error 22P02
SELECT polygon '(1,2),3';
-- error 22P02
SELECT circle '<(1,2),-1>';
-- error 22P02
SELECT circle '<(1,2)>';
-- error 22P02
SELECT circle '1,2';
SELECT pg_typeof(point '1,2'), pg_typeof(box '1,2,3,4' # box '1,2,3,4'), pg_typeof(@@ circle '1,2,3');
SELECT point(1, 2), point(1.5, 2), box(point '1,2', point '0,5'), lseg(point '1,2', point '0,5'), line(point '1,2', point '0,5');
SELECT circle(point '1,2', 3), polygon(4, circle '0,0,1'), path(polygon '0,0,1,1,2,0'), circle(polygon '0,0,4,0,2,6');
-- error 22023
SELECT polygon(1, circle '0,0,1');
SELECT (lseg '1,2,3,4')::point, (box '1,2,3,4')::point, (box '1,2,3,4')::lseg, (box '1,2,3,4')::polygon, (box '1,2,3,4')::circle;
SELECT (polygon '0,0,4,0,2,6')::point, (polygon '0,0,4,0,2,6')::path, (polygon '0,0,4,0,2,6')::box, (polygon '0,0,4,0,2,6')::circle;
SELECT (circle '1,2,3')::point, (circle '1,2,3')::box, (point '1,2')::box, (path '((0,0),(1,1))')::polygon;
-- error 42846
SELECT (point '1,2')::circle;
-- error 42846
SELECT 5::point;
SELECT (point '1,2')::text, '1,2'::text::point, (box '1,2,3,4')::varchar, CAST('(3,4)' AS point);
SELECT ('(1,2)'::point)[0], (point '1,2')[1], (point '1,2')[2], (lseg '1,2,3,4')[0], (box '1,2,3,4')[1], (point '1,2')[NULL];
-- error 42804
SELECT (circle '1,2,3')[0];
-- error 0A000
SELECT (point '1,2')[0:1];
CREATE TABLE gm (id int PRIMARY KEY, p point, b box DEFAULT '(1,1),(0,0)', c circle, g polygon, h path, l line, s lseg, ps point[], bs box[]);
INSERT INTO gm VALUES (1, '1,2', '3,4,1,2', '<(0,0),5>', '0,0,0,5,5,5', '[(0,0),(1,1)]', '{1,1,1}', '0,0,1,1', '{"(1,2)",NULL,"(3,4)"}', '{(1,1),(0,0);(2,2),(1,1)}');
INSERT INTO gm (id, p) VALUES (2, point(5, 5)), (3, NULL);
INSERT INTO gm (id, p) SELECT g, point(g % 7, g * 1.5) FROM generate_series(4, 12) AS g;
SELECT * FROM gm ORDER BY id;
SELECT id, p[0] AS x, p[1] AS y, ps[1], ps[3][0], bs[2] FROM gm WHERE id < 4 ORDER BY id;
SELECT id, p <-> point '3,3' AS d FROM gm WHERE p IS NOT NULL ORDER BY p <-> point '3,3', id LIMIT 4;
SELECT id FROM gm WHERE p <@ box '(6,20),(1,2)' ORDER BY id;
SELECT id FROM gm WHERE circle '<(3,3),4>' @> p ORDER BY id;
SELECT id FROM gm WHERE p <@ polygon '((0,0),(0,10),(10,10))' ORDER BY id;
SELECT count(*), count(p), count(b) FROM gm;
SELECT array_agg(p ORDER BY id) FROM gm WHERE id < 4;
SELECT array_agg(b ORDER BY id), ARRAY[box '1,1,0,0', NULL], '{(1,1),(0,0)}'::box[]::text FROM gm WHERE id < 3;
UPDATE gm SET p = p + point '1,1', c = circle(p, 2) WHERE id < 5;
SELECT id, p, c FROM gm WHERE id < 5 ORDER BY id;
DELETE FROM gm WHERE p ~= point '2,3';
SELECT id FROM gm ORDER BY id LIMIT 2;
SELECT json_build_object('p', p, 'b', b), to_jsonb(p), row_to_json(gm) FROM gm WHERE id = 2;
SELECT p IS NULL, p IS NOT DISTINCT FROM NULL FROM gm WHERE id = 3;
-- error 42883
SELECT p FROM gm ORDER BY p;
-- error 42883
SELECT DISTINCT p FROM gm;
-- error 42883
SELECT p, count(*) FROM gm GROUP BY p;
-- error 42883
SELECT min(p) FROM gm;
-- error 42883
SELECT max(c) FROM gm;
-- error 42883
SELECT count(DISTINCT b) FROM gm;
-- error 42883
SELECT * FROM gm WHERE p = point '1,2';
-- error 42883
SELECT p FROM gm UNION SELECT p FROM gm;
SELECT count(*) FROM (SELECT p FROM gm UNION ALL SELECT p FROM gm) AS u;
-- error 42704
CREATE TABLE gm_key (p point PRIMARY KEY);
-- error 42704
CREATE INDEX gm_btree ON gm (p);
CREATE INDEX gm_gist ON gm USING gist (p);
CREATE INDEX gm_gist_box ON gm USING gist (b, c);
CREATE INDEX gm_spgist ON gm USING spgist (p);
SELECT indexdef FROM pg_indexes WHERE tablename = 'gm' ORDER BY 1;
SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'gm'::regclass AND attnum > 0 ORDER BY attnum;
CREATE DOMAIN gm_near AS point CHECK (VALUE <-> point '0,0' < 10);
SELECT '(3,4)'::gm_near;
-- error 23514
SELECT '(30,4)'::gm_near;
SELECT a.id, b.id FROM gm AS a JOIN gm AS b ON a.p <-> b.p < 3 AND a.id < b.id ORDER BY 1, 2;
-- error 42883
SELECT point '(1,2)' = ANY (ARRAY[point '1,2']);
CREATE FUNCTION gm_shift(p point, by float8) RETURNS point LANGUAGE plpgsql AS $$ DECLARE q point; BEGIN q := p + point(by, by); IF q[0] > 3 THEN RETURN q; END IF; RETURN point(q[1], q[0]); END $$;
SELECT gm_shift('1,2', 1), gm_shift('5,2', 1);
SELECT point_send('(1,2)'), circle_send('<(1,2),3>'), path_send('[(1,2)]');

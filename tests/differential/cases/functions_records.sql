-- Functions with OUT parameters, of records and of rows: over the rows of a relation, in select lists and in FROM.
-- setup
CREATE TABLE rt (id int, x int, s text);
INSERT INTO rt VALUES (1, 10, 'a'), (2, 20, 'b'), (3, NULL, 'c');
CREATE FUNCTION o2(i int, OUT a int, OUT b text) LANGUAGE plpgsql AS $$ BEGIN a := i * 2; b := 'v' || i; END $$;
CREATE FUNCTION o2s(i int, OUT a int, OUT b text) LANGUAGE sql AS $$ SELECT i * 2, 'v' || i $$;
CREATE FUNCTION so2(i int, OUT a int, OUT b text) RETURNS SETOF record LANGUAGE plpgsql AS $$ BEGIN FOR k IN 1..i/10 LOOP a := k; b := 'r' || k; RETURN NEXT; END LOOP; END $$;
CREATE FUNCTION so2s(i int, OUT a int, OUT b text) RETURNS SETOF record LANGUAGE sql AS $$ SELECT k, 'r' || k FROM generate_series(1, i/10) k $$;
CREATE FUNCTION tf(i int) RETURNS TABLE (k int, v text) LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY SELECT n, 'q' || n FROM generate_series(1, i/10) n; END $$;
CREATE FUNCTION sr(i int) RETURNS SETOF record LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY SELECT n, 'q' || n FROM generate_series(1, i/10) n; END $$;
CREATE FUNCTION srs(i int) RETURNS SETOF record LANGUAGE sql AS $$ SELECT n, 'q' || n FROM generate_series(1, i/10) n $$;
CREATE FUNCTION r1(i int) RETURNS record LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN SELECT i, 'z' || i INTO r; RETURN r; END $$;
CREATE FUNCTION r1s(i int) RETURNS record LANGUAGE sql AS $$ SELECT i, 'z' || i $$;
CREATE FUNCTION rrow(i int) RETURNS rt LANGUAGE plpgsql AS $$ DECLARE r rt; BEGIN SELECT * INTO r FROM rt WHERE id = i; RETURN r; END $$;
CREATE FUNCTION srow(i int) RETURNS SETOF rt LANGUAGE sql AS $$ SELECT * FROM rt WHERE id <= i $$;
CREATE FUNCTION srowp(i int) RETURNS SETOF rt LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY SELECT * FROM rt WHERE id <= i; END $$;
-- cases
SELECT o2(5), o2s(5);
SELECT (o2(5)).*, (o2s(5)).a;
SELECT id, o2(x) FROM rt;
SELECT id, o2s(x) FROM rt;
SELECT id, (o2(x)).* FROM rt;
SELECT id, (o2s(x)).* FROM rt;
SELECT id, (o2(x)).b, (o2s(x)).a FROM rt;
SELECT * FROM rt, o2(x);
SELECT * FROM rt, o2s(x) AS t(p, q);
SELECT so2(20), so2s(20);
-- error 22004
SELECT id, so2(x) FROM rt;
SELECT id, so2(coalesce(x, 0)) FROM rt;
SELECT id, so2(x) FROM rt WHERE x IS NOT NULL ORDER BY id DESC, 2 LIMIT 2;
SELECT DISTINCT (so2(x)).b FROM rt WHERE x > 0;
SELECT id, upper((so2(x)).b), (so2(x)).a + 1 FROM rt WHERE x > 0;
SELECT id, so2s(x) FROM rt;
-- error 22004
SELECT id, (so2(x)).* FROM rt;
SELECT id, (so2s(x)).* FROM rt;
SELECT id, (so2s(x)).b FROM rt;
-- error 22004
SELECT * FROM rt, so2(x);
SELECT * FROM rt, so2(id * 10);
SELECT * FROM rt, so2s(x);
SELECT * FROM rt LEFT JOIN LATERAL so2s(x) s ON true;
-- error 22004
SELECT * FROM rt LEFT JOIN LATERAL so2(x) s ON true;
SELECT tf(20);
SELECT id, tf(x) FROM rt;
SELECT id, (tf(x)).* FROM rt;
SELECT id, t.* FROM rt, tf(x) t;
SELECT id, t.*, o FROM rt, tf(x) WITH ORDINALITY t(k, v, o);
SELECT * FROM sr(20) AS t(a int, b text);
SELECT * FROM srs(20) AS t(a int, b text);
SELECT id, t.* FROM rt, sr(x) AS t(a int, b text);
SELECT id, t.* FROM rt, srs(x) AS t(a int, b text);
-- error 0A000
SELECT sr(20);
SELECT srs(20);
-- error 0A000
SELECT id, sr(x) FROM rt;
SELECT id, srs(x) FROM rt;
-- error 42809
-- refused 0A000: the types of its fields are not known before it runs
SELECT (sr(20)).*;
-- error 42601
SELECT * FROM sr(20);
SELECT r1s(3);
-- refused 0A000: the types of its fields are not known before it runs
SELECT r1(3);

SELECT id, r1s(id) FROM rt;
SELECT * FROM r1(3) AS t(a int, b text);
SELECT * FROM r1s(3) AS t(a int, b text);
SELECT id, t.* FROM rt, r1(id) AS t(a int, b text);
SELECT id, t.* FROM rt, r1s(id) AS t(a int, b text);
-- error 42804
SELECT * FROM r1(3) AS t(a int, b int);
-- error 42804
SELECT * FROM r1(3) AS t(a int);
SELECT rrow(1), rrow(99);
SELECT id, rrow(id) FROM rt;
SELECT id, (rrow(id)).* FROM rt;
SELECT id, (rrow(id)).s FROM rt;
SELECT srow(2);
SELECT id, srow(id) FROM rt;
SELECT id, (srow(id)).* FROM rt;
SELECT id, srowp(id) FROM rt;
SELECT id, (srowp(id)).* FROM rt;
SELECT rt.id, s.* FROM rt, srowp(rt.id) s;
SELECT count(*) FROM rt, so2(id * 10);
SELECT id, (o2(id)).a + 1, upper((o2(id)).b) FROM rt ORDER BY (o2(id)).a DESC;
SELECT id FROM rt WHERE (o2(id)).a > 2;
SELECT sum((o2(id)).a) FROM rt;
SELECT ARRAY[ROW(1, 'a'), ROW(2, 'b')];
-- refused 0A000: rows of differing types are not one type here
SELECT ARRAY[ROW(1, 'a'), ROW(2.5, 'b', true)];
-- refused 0A000: rows of differing types are not one type here
SELECT id, CASE WHEN id = 1 THEN ROW(1, 2) ELSE ROW('x', 2.5) END FROM rt;
SELECT CASE WHEN id = 1 THEN rt ELSE NULL END FROM rt;
-- refused 0A000: rows of differing types are not one type here
SELECT CASE WHEN id = 1 THEN ROW(id, x) ELSE ROW(s) END FROM rt;
SELECT array_agg(ROW(id, s)) FROM rt;
-- error 42601
SELECT * FROM json_to_record('{"a":1}');
CREATE TABLE cte AS SELECT id, (o2(x)).* FROM rt;
SELECT * FROM cte;
INSERT INTO rt (id, s) SELECT (o2(7)).*;
SELECT * FROM rt;
CREATE TABLE fr_log (id integer);
CREATE FUNCTION fr_noted(i int, OUT a int, OUT b text) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO fr_log VALUES (i); a := i; b := 'n'; END $$;
SELECT id, fr_noted(7) FROM rt WHERE id < 4;
SELECT count(*) FROM fr_log;
SELECT (fr_noted(id)).a, (fr_noted(id)).b FROM rt WHERE id = 1;
SELECT count(*) FROM fr_log;
-- error 22012
SELECT so2s(1 / 0);
CREATE FUNCTION fr_in() RETURNS text LANGUAGE plpgsql AS $$ DECLARE r record; t text; BEGIN r := o2(4); t := (o2(5)).b; FOR r IN SELECT id, (o2(id)).a AS a FROM rt WHERE id < 3 ORDER BY id LOOP t := t || r.a; END LOOP; RETURN t || (SELECT (o2s(9)).b); END $$;
SELECT fr_in();
CREATE FUNCTION fr_strict(i int, OUT a int, OUT b text) LANGUAGE plpgsql STRICT AS $$ BEGIN a := i; END $$;
SELECT id, fr_strict(x), (fr_strict(x)).a FROM rt WHERE id < 4;
SELECT id FROM rt WHERE o2(id) = ROW(4, 'v2'::text) ORDER BY o2(id);
SELECT array_agg(o2(id) ORDER BY id) FROM rt WHERE id < 3;
SELECT id, to_json(o2(id)) FROM rt WHERE id < 3;

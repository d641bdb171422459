-- Tables of the catalog: public.t (a, t_b), public.u (a, u_b), s.t (a, t_b), s.lone (a, lone_b).
-- before
SELECT * FROM (PIVOT t ON t_b IN (1, 2) USING sum(a)) AS p
-- after
SELECT * FROM (SELECT * FROM (SELECT sum(a) FILTER (WHERE t_b = 1) AS "1", sum(a) FILTER (WHERE t_b = 2) AS "2" FROM (SELECT * FROM t) AS pivoted)) AS p
-- before
SELECT * FROM (DESCRIBE lone) AS d
-- after
SELECT * FROM (SELECT * FROM (SELECT column_name, column_type, "null", key, "default", extra FROM (VALUES ('a'::text, 'integer'::text, 'YES'::text, NULL::text, NULL::text, NULL::text), ('lone_b'::text, 'integer'::text, 'YES'::text, NULL::text, NULL::text, NULL::text)) AS described (column_name, column_type, "null", key, "default", extra))) AS d
-- before
SELECT name FROM lone UNPIVOT (value FOR name IN (a, lone_b)) AS p
-- after
SELECT name FROM (SELECT made.n AS name, made.v AS value FROM (SELECT CASE places.place WHEN 1 THEN 'a' WHEN 2 THEN 'lone_b' END AS n, CASE places.place WHEN 1 THEN computed.v1 WHEN 2 THEN computed.v2 END AS v FROM (SELECT a AS v1, lone_b AS v2 FROM (SELECT * FROM lone) AS unpivoted) AS computed CROSS JOIN (VALUES (1), (2)) AS places (place)) AS made WHERE made.v IS NOT NULL) AS p
-- Other functions stay.
-- before
SELECT * FROM generate_series(1, 2) AS g
-- after
SELECT * FROM generate_series(1, 2) AS g

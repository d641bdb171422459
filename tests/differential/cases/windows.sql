-- Window functions: ranks with ties, frames, offsets past the end, NULL order, named windows, aggregates over.
-- setup
CREATE TABLE wi_t (id integer, g text, v integer, q numeric(8,2), d date);
CREATE TABLE wi_none (id integer, g text);
INSERT INTO wi_t VALUES
  (1, 'a', 10, 1.10, '2024-01-01'), (2, 'a', 10, 2.20, '2024-01-02'), (3, 'a', 20, 3.30, '2024-01-05'),
  (4, 'b', NULL, NULL, '2024-02-28'), (5, 'b', 5, -1.00, '2024-02-29'), (6, 'b', 7, 0.00, '2024-03-01'),
  (7, NULL, 1, 100.00, NULL), (8, NULL, 1, 0.05, '2023-12-31');
-- cases
SELECT id, row_number() OVER (ORDER BY id) FROM wi_t;
SELECT id, row_number() OVER (PARTITION BY g ORDER BY v DESC, id) FROM wi_t;
SELECT id, rank() OVER (ORDER BY v), dense_rank() OVER (ORDER BY v) FROM wi_t;
SELECT id, rank() OVER (ORDER BY v DESC NULLS LAST), percent_rank() OVER (ORDER BY v), cume_dist() OVER (ORDER BY v) FROM wi_t;
SELECT id, ntile(3) OVER (ORDER BY id) FROM wi_t;
SELECT id, lag(v) OVER (ORDER BY id), lead(v) OVER (ORDER BY id) FROM wi_t;
SELECT id, lag(v, 2, -1) OVER (PARTITION BY g ORDER BY id), lead(g, 1, 'none') OVER (ORDER BY id) FROM wi_t;
SELECT id, first_value(v) OVER w, last_value(v) OVER w, nth_value(v, 2) OVER w FROM wi_t WINDOW w AS (PARTITION BY g ORDER BY id);
SELECT id, last_value(v) OVER (PARTITION BY g ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) FROM wi_t;
SELECT id, sum(v) OVER (), count(*) OVER (PARTITION BY g), avg(q) OVER (PARTITION BY g) FROM wi_t;
SELECT id, sum(v) OVER (PARTITION BY g ORDER BY v) FROM wi_t;
SELECT id, sum(v) OVER (ORDER BY v RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM wi_t;
SELECT id, sum(v) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM wi_t;
SELECT id, sum(q) OVER (ORDER BY id ROWS 2 PRECEDING) FROM wi_t;
SELECT id, count(v) OVER (ORDER BY id ROWS BETWEEN 3 PRECEDING AND 2 PRECEDING) FROM wi_t;
SELECT id, max(v) OVER (ORDER BY id ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING) FROM wi_t;
SELECT id, count(*) OVER (ORDER BY v RANGE BETWEEN 5 PRECEDING AND 5 FOLLOWING) FROM wi_t;
SELECT id, count(*) OVER (ORDER BY d RANGE BETWEEN interval '1 day' PRECEDING AND CURRENT ROW) FROM wi_t WHERE d IS NOT NULL;
SELECT id, sum(v) OVER (ORDER BY v GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM wi_t;
SELECT id, sum(v) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW) FROM wi_t;
SELECT g, sum(sum(v)) OVER (ORDER BY g NULLS FIRST) FROM wi_t GROUP BY g;
SELECT g, count(*), rank() OVER (ORDER BY count(*) DESC, g) FROM wi_t GROUP BY g;
SELECT id, v - avg(v) OVER (PARTITION BY g) AS off FROM wi_t;
SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY g ORDER BY v DESC NULLS LAST, id) AS n FROM wi_t) s WHERE n = 1;
SELECT id, sum(v) FILTER (WHERE v > 5) OVER (PARTITION BY g) FROM wi_t;
SELECT id, sum(v) OVER (w ORDER BY id), min(v) OVER (w) FROM wi_t WINDOW w AS (PARTITION BY g);
SELECT row_number() OVER () FROM wi_none;
SELECT id, count(*) OVER (PARTITION BY v % 2 ORDER BY id) FROM wi_t;
-- ordered
SELECT id, rank() OVER (PARTITION BY g ORDER BY q) AS r FROM wi_t ORDER BY r, id;
-- ordered
SELECT id FROM wi_t ORDER BY sum(v) OVER (PARTITION BY g) NULLS FIRST, id;
SELECT DISTINCT g, count(*) OVER (PARTITION BY g) FROM wi_t;
SELECT id, string_agg(g, '-') OVER (ORDER BY id) FROM wi_t;
SELECT id, lag(q, NULL) OVER (ORDER BY id) FROM wi_t;
-- error 42P20
SELECT id FROM wi_t WHERE row_number() OVER (ORDER BY id) = 1;
-- error 42P20
SELECT sum(row_number() OVER ()) OVER () FROM wi_t;
-- error 42704
SELECT sum(v) OVER nowhere FROM wi_t;
-- error 42809
SELECT lower(g) OVER () FROM wi_t;
-- error 42809
SELECT rank() FROM wi_t;
-- error 22013
SELECT sum(v) OVER (ORDER BY id ROWS BETWEEN -1 PRECEDING AND CURRENT ROW) FROM wi_t;
-- error 22014
SELECT ntile(0) OVER (ORDER BY id) FROM wi_t;
-- how far a frame reaches must be known, and no less than nothing
-- messages
-- error 22004
SELECT sum(x) OVER (ROWS BETWEEN NULL PRECEDING AND CURRENT ROW) FROM generate_series(1, 3) AS x;
-- error 22004
SELECT sum(x) OVER (ORDER BY x RANGE BETWEEN 1 PRECEDING AND NULL::integer FOLLOWING) FROM generate_series(1, 3) AS x;
-- error 22004
SELECT count(*) OVER (ORDER BY d RANGE BETWEEN NULL::interval PRECEDING AND CURRENT ROW) FROM (VALUES (date '2020-01-01')) AS v(d);
-- error 22004
SELECT sum(x) OVER (ORDER BY x GROUPS BETWEEN (SELECT NULL::integer) PRECEDING AND CURRENT ROW) FROM generate_series(1, 3) AS x;
-- error 22013
SELECT sum(x) OVER (ORDER BY x GROUPS BETWEEN -1 PRECEDING AND CURRENT ROW) FROM generate_series(1, 3) AS x;
-- error 22013
SELECT sum(x) OVER (ROWS BETWEEN CURRENT ROW AND (SELECT -1) FOLLOWING) FROM generate_series(1, 3) AS x;
-- error 22013
SELECT sum(x) OVER (ROWS BETWEEN CURRENT ROW AND -1 FOLLOWING) FROM generate_series(1, 3) AS x;
-- cases
SELECT sum(x) OVER (ORDER BY x GROUPS BETWEEN (SELECT 1) PRECEDING AND (SELECT 2) FOLLOWING) FROM generate_series(1, 5) AS x;
-- error 22013
SELECT count(*) OVER (ORDER BY x RANGE BETWEEN 1.1 PRECEDING AND 'NaN' FOLLOWING) FROM (VALUES (1::float8)) AS v(x);
-- refused 0A000: the engine adds and subtracts distances
SELECT count(*) OVER (ORDER BY x RANGE BETWEEN 'inf' PRECEDING AND 1 FOLLOWING) FROM (VALUES (1::float8)) AS v(x);
-- how many tiles a partition has, its first row tells
SELECT id, ntile(id + 1) OVER (ORDER BY id), ntile(v) OVER (PARTITION BY g ORDER BY v NULLS LAST, id DESC), ntile(9 - id) OVER (ORDER BY id DESC ROWS 1 PRECEDING) FROM wi_t WHERE id <> 4;
SELECT x, ntile(x + 6) OVER (ORDER BY x), ntile(x + 2) OVER (PARTITION BY x % 3 ORDER BY x), ntile(NULLIF(x % 2 + 1, 2)) OVER (PARTITION BY x % 2 ORDER BY x) FROM generate_series(0, 20) AS x;
-- error 22014
SELECT id, ntile(id - 1) OVER (ORDER BY id) FROM wi_t;
-- refused 0A000: the engine has no place of the first row whose argument is none
SELECT id, ntile(v) OVER (ORDER BY v NULLS FIRST, id) FROM wi_t;

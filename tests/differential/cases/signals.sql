-- pg_cancel_backend and pg_terminate_backend: over rows, NULLs, sessions that do not exist, timeouts.
-- cases
SELECT pg_cancel_backend(-1), pg_terminate_backend(-1), pg_terminate_backend(-1, 10);
SELECT pg_cancel_backend(NULL), pg_terminate_backend(NULL), pg_terminate_backend(-1, NULL);
SELECT g, pg_cancel_backend(g) FROM generate_series(-3, -1) AS g;
-- ordered
SELECT g, pg_terminate_backend(g) AS ended FROM generate_series(-3, -1) AS g ORDER BY g DESC LIMIT 2;
SELECT count(*), count(*) FILTER (WHERE ended) FROM (SELECT pg_terminate_backend(pid) AS ended FROM pg_stat_activity WHERE pid < 0) AS t;
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND application_name = 'nobody of this name';
SELECT NOT pg_cancel_backend((SELECT min(g) FROM generate_series(-3, -1) AS g));
WITH ended AS (SELECT pg_cancel_backend(g) AS c FROM generate_series(-2, -1) AS g) SELECT bool_or(c) FROM ended;
-- error 22003
SELECT pg_terminate_backend(-1, -1);

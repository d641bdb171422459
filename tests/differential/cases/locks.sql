-- Advisory locks and FOR UPDATE as one session sees them.
-- setup
CREATE TABLE lo_m (a integer PRIMARY KEY, b text);
INSERT INTO lo_m VALUES (1, 'x'), (2, 'y');
CREATE TABLE lo_n (a integer, c integer);
INSERT INTO lo_n VALUES (1, 5), (3, 7);
CREATE VIEW lo_v AS SELECT a FROM lo_m;
-- messages
SELECT pg_advisory_lock(1);
SELECT pg_advisory_lock(1), pg_try_advisory_lock(2, 3), pg_try_advisory_lock_shared(-5);
SELECT pg_try_advisory_xact_lock(9);
SELECT locktype, classid, objid, objsubid, mode, granted, pid = pg_backend_pid()
FROM pg_locks WHERE locktype = 'advisory' AND database IS NOT NULL;
SELECT pg_advisory_unlock(1), pg_advisory_unlock(1), pg_advisory_unlock(1);
SELECT pg_advisory_unlock_shared(2, 3);
SELECT * FROM pg_try_advisory_lock(3) AS taken;
SELECT pg_advisory_unlock_all();
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory';
SELECT pg_advisory_lock(g) FROM generate_series(1, 3) AS g;
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory';
DISCARD ALL;
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory';
BEGIN;
SELECT pg_advisory_xact_lock(7), pg_advisory_xact_lock_shared(7, 8);
SELECT pg_advisory_unlock(7);
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory';
COMMIT;
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory';
SELECT pg_advisory_lock(NULL), pg_try_advisory_lock(1, NULL);
SELECT pg_blocking_pids(pg_backend_pid()), pg_blocking_pids(0);
SELECT * FROM current_schema();
SELECT a FROM lo_m WHERE a = 1 FOR UPDATE;
SELECT a FROM lo_m ORDER BY a LIMIT 1 FOR UPDATE SKIP LOCKED;
SELECT a FROM lo_m ORDER BY a FOR SHARE OF lo_m NOWAIT;
SELECT x.a, c FROM lo_m AS x JOIN lo_n USING (a) FOR NO KEY UPDATE OF x FOR KEY SHARE OF lo_n;
SELECT * FROM lo_v ORDER BY 1 FOR UPDATE;
SELECT count(*) FROM (SELECT a FROM lo_m FOR UPDATE SKIP LOCKED) AS s;
UPDATE lo_m SET b = 'z' WHERE a IN (SELECT a FROM lo_m ORDER BY a LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING a, b;
PREPARE lo_p AS SELECT b FROM lo_m WHERE a = $1 FOR UPDATE;
EXECUTE lo_p(1);
INSERT INTO lo_n SELECT a, 0 FROM lo_m FOR UPDATE;
-- error 42P01
SELECT x.a FROM lo_m AS x FOR UPDATE OF lo_m;
-- error 42601
SELECT a FROM lo_m FOR UPDATE OF public.lo_m;
-- error 0A000
SELECT count(*) FROM lo_m FOR UPDATE;
-- error 0A000
SELECT a FROM lo_m GROUP BY a FOR NO KEY UPDATE;
-- error 0A000
SELECT DISTINCT a FROM lo_m FOR KEY SHARE;
-- error 0A000
SELECT a FROM lo_m UNION SELECT a FROM lo_n FOR UPDATE;
-- error 0A000
VALUES (1) FOR UPDATE;
-- error 0A000
SELECT row_number() OVER () FROM lo_m FOR UPDATE;
-- error 0A000
SELECT generate_series(1, 2) FROM lo_m FOR SHARE;
-- error 0A000
SELECT g FROM generate_series(1, 2) AS g FOR UPDATE OF g;
-- error 0A000
WITH q AS (SELECT 1 AS a) SELECT * FROM q FOR UPDATE OF q;
BEGIN READ ONLY;
-- error 25006
SELECT a FROM lo_m FOR UPDATE;
ROLLBACK;
-- Cursors of locked rows.
BEGIN;
DECLARE lo_cursor CURSOR FOR SELECT a FROM lo_m ORDER BY a FOR UPDATE;
FETCH 1 FROM lo_cursor;
ROLLBACK;
BEGIN;
DECLARE lo_cursor CURSOR FOR SELECT 1 AS one FOR UPDATE;
FETCH ALL FROM lo_cursor;
DECLARE lo_held CURSOR WITH HOLD FOR SELECT 1 FOR SHARE;
ROLLBACK;
-- error 0A000
DECLARE lo_cursor CURSOR WITH HOLD FOR SELECT a FROM lo_m FOR UPDATE;
BEGIN;
-- error 0A000
DECLARE lo_cursor SCROLL CURSOR FOR SELECT a FROM lo_m FOR SHARE;
ROLLBACK;
BEGIN;
-- error 42P11
DECLARE lo_cursor INSENSITIVE CURSOR FOR SELECT a FROM lo_m FOR UPDATE;
ROLLBACK;
BEGIN;
DECLARE lo_cursor CURSOR FOR SELECT a FROM lo_m FOR UPDATE SKIP LOCKED;
ROLLBACK;
BEGIN READ ONLY;
-- error 25006
DECLARE lo_cursor CURSOR FOR SELECT a FROM lo_m FOR UPDATE;
ROLLBACK;

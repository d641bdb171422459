-- DEFERRABLE keys: checked when a statement ends, or at the end of the transaction.
-- setup
CREATE TABLE dk_t (a integer PRIMARY KEY DEFERRABLE INITIALLY DEFERRED, b integer CONSTRAINT dk_b UNIQUE DEFERRABLE, c text);
INSERT INTO dk_t VALUES (1, 1, 'x'), (2, 2, 'y'), (3, 3, 'z');
-- messages
BEGIN;
INSERT INTO dk_t VALUES (1, 9, 'w');
SELECT count(*) FROM dk_t WHERE a = 1;
UPDATE dk_t SET a = 4 WHERE c = 'w';
COMMIT;
BEGIN;
INSERT INTO dk_t VALUES (1, 10, 'v');
-- error 23505
COMMIT;
-- ordered
SELECT * FROM dk_t ORDER BY a;
-- error 23505
INSERT INTO dk_t VALUES (1, 10, 'v');
BEGIN;
-- error 23505
INSERT INTO dk_t VALUES (7, 1, 'v');
ROLLBACK;
BEGIN;
SET CONSTRAINTS dk_b DEFERRED;
INSERT INTO dk_t VALUES (7, 1, 'v');
UPDATE dk_t SET b = 77 WHERE a = 1;
SET CONSTRAINTS dk_b IMMEDIATE;
COMMIT;
BEGIN;
SET CONSTRAINTS ALL DEFERRED;
INSERT INTO dk_t VALUES (8, 2, 'u');
-- error 23505
SET CONSTRAINTS ALL IMMEDIATE;
ROLLBACK;
-- What one transaction says about its constraints is over with it.
BEGIN;
SET CONSTRAINTS ALL DEFERRED;
COMMIT;
BEGIN;
-- error 23505
INSERT INTO dk_t VALUES (8, 2, 'u');
ROLLBACK;
BEGIN;
SAVEPOINT s;
INSERT INTO dk_t VALUES (1, 50, 'q');
ROLLBACK TO s;
COMMIT;
UPDATE dk_t SET b = 100 - b;
UPDATE dk_t SET a = a + 1;
-- error 55000
INSERT INTO dk_t VALUES (2, 1, 'x') ON CONFLICT DO NOTHING;
-- error 55000
INSERT INTO dk_t VALUES (2, 1, 'x') ON CONFLICT (a) DO NOTHING;
-- error 55000
INSERT INTO dk_t VALUES (2, 1, 'x') ON CONFLICT ON CONSTRAINT dk_b DO UPDATE SET c = 'n';
-- error 55000
CREATE TABLE dk_r (a integer REFERENCES dk_t);
-- error 55000
CREATE TABLE dk_r (b integer REFERENCES dk_t (b));
-- error 42803
SELECT a, c FROM dk_t GROUP BY a;
-- error 42809
ALTER TABLE dk_t ALTER CONSTRAINT dk_b NOT DEFERRABLE;
-- ordered
SELECT conname, contype, condeferrable, condeferred, pg_get_constraintdef(oid) FROM pg_constraint
WHERE conrelid = 'dk_t'::regclass ORDER BY 1;
-- ordered
SELECT c.relname, indisunique, indisprimary, indimmediate, pg_get_indexdef(indexrelid) FROM pg_index
JOIN pg_class AS c ON c.oid = indexrelid WHERE indrelid = 'dk_t'::regclass ORDER BY 1;
-- ordered
SELECT constraint_name, constraint_type, is_deferrable, initially_deferred FROM information_schema.table_constraints
WHERE table_name = 'dk_t' AND constraint_type <> 'CHECK' ORDER BY 1;
CREATE TABLE dk_like (LIKE dk_t INCLUDING ALL);
-- ordered
SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'dk_like'::regclass ORDER BY 1;
-- Many rows, and NULLs.
CREATE TABLE dk_m (a integer, UNIQUE NULLS NOT DISTINCT (a) DEFERRABLE INITIALLY DEFERRED);
BEGIN;
INSERT INTO dk_m SELECT generate_series(1, 5000);
INSERT INTO dk_m VALUES (NULL);
INSERT INTO dk_m VALUES (NULL);
-- error 23505
COMMIT;
BEGIN;
INSERT INTO dk_m SELECT generate_series(1, 5000);
INSERT INTO dk_m VALUES (4711);
DELETE FROM dk_m WHERE a > 4000;
COMMIT;
SELECT count(*), max(a) FROM dk_m;
ALTER TABLE dk_m ADD CONSTRAINT dk_more UNIQUE (a) DEFERRABLE;
-- error 23505
INSERT INTO dk_m VALUES (5), (5);
ALTER TABLE dk_m DROP CONSTRAINT dk_m_a_key;
-- error 23505
INSERT INTO dk_m VALUES (5);
ALTER TABLE dk_m DROP CONSTRAINT dk_more;
INSERT INTO dk_m VALUES (5);
-- error 23505
ALTER TABLE dk_m ADD PRIMARY KEY (a) DEFERRABLE INITIALLY DEFERRED;
-- Partitions have the key each.
CREATE TABLE dk_p (a integer, b integer, CONSTRAINT dk_pk UNIQUE (a, b) DEFERRABLE) PARTITION BY LIST (a);
CREATE TABLE dk_p1 PARTITION OF dk_p FOR VALUES IN (1);
CREATE TABLE dk_p2 PARTITION OF dk_p FOR VALUES IN (2);
INSERT INTO dk_p VALUES (1, 1), (2, 1);
-- error 23505
INSERT INTO dk_p VALUES (1, 1);
BEGIN;
SET CONSTRAINTS dk_pk DEFERRED;
INSERT INTO dk_p VALUES (1, 1), (2, 1);
UPDATE dk_p SET b = 2 WHERE ctid IN (SELECT max(ctid) FROM dk_p WHERE a = 1) AND a = 1;
-- error 23505
COMMIT;
SELECT * FROM dk_p;
-- cases
-- error 42601
CREATE TABLE dk_no (a integer UNIQUE NOT DEFERRABLE INITIALLY DEFERRED);

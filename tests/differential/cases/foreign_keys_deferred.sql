-- Foreign keys that wait for the transaction's end: DEFERRABLE, SET CONSTRAINTS, ALTER CONSTRAINT.
-- cases
CREATE TABLE fd_parent (a integer PRIMARY KEY);
CREATE TABLE fd_child (b integer REFERENCES fd_parent DEFERRABLE INITIALLY DEFERRED, d integer);
CREATE TABLE fd_other (b integer CONSTRAINT fd_other_b REFERENCES fd_parent (a) DEFERRABLE, d integer, CONSTRAINT fd_other_d UNIQUE (d));
-- error 42601
CREATE TABLE fd_third (b integer REFERENCES fd_parent INITIALLY DEFERRED NOT DEFERRABLE);
-- error 42601
CREATE TABLE fd_third (b integer DEFERRABLE);
-- error 42601
CREATE TABLE fd_third (b integer NOT NULL INITIALLY DEFERRED);
CREATE TABLE fd_third (b integer, FOREIGN KEY (b) REFERENCES fd_parent DEFERRABLE INITIALLY IMMEDIATE);
-- messages
CREATE TABLE fd_fourth (b integer REFERENCES fd_parent NOT DEFERRABLE);
-- error 23503
INSERT INTO fd_child VALUES (1, 1);
BEGIN;
INSERT INTO fd_child VALUES (1, 1);
INSERT INTO fd_parent VALUES (1);
COMMIT;
BEGIN;
DELETE FROM fd_parent WHERE a = 1;
SELECT * FROM fd_parent;
INSERT INTO fd_parent VALUES (1);
COMMIT;
BEGIN;
DELETE FROM fd_parent WHERE a = 1;
-- error 23503
COMMIT;
TABLE fd_parent;
BEGIN;
UPDATE fd_parent SET a = 2;
UPDATE fd_child SET b = 2;
COMMIT;
BEGIN;
-- error 23503
INSERT INTO fd_other VALUES (9, 9);
ROLLBACK;
BEGIN;
SET CONSTRAINTS ALL DEFERRED;
INSERT INTO fd_other VALUES (9, 9);
-- error 23503
SET CONSTRAINTS ALL IMMEDIATE;
ROLLBACK;
BEGIN;
SET CONSTRAINTS fd_other_b DEFERRED;
INSERT INTO fd_other VALUES (9, 9);
INSERT INTO fd_parent VALUES (9);
SET CONSTRAINTS fd_other_b IMMEDIATE;
-- error 23503
INSERT INTO fd_other VALUES (10, 10);
ROLLBACK;
BEGIN;
SET CONSTRAINTS fd_other_b DEFERRED;
INSERT INTO fd_other VALUES (10, 10);
SAVEPOINT s;
INSERT INTO fd_parent VALUES (10);
ROLLBACK TO s;
-- error 23503
COMMIT;
BEGIN;
-- error 42704
SET CONSTRAINTS nothing DEFERRED;
ROLLBACK;
BEGIN;
-- error 42809
SET CONSTRAINTS fd_other_d DEFERRED;
ROLLBACK;
BEGIN;
-- error 42809
SET CONSTRAINTS fd_parent_pkey DEFERRED;
ROLLBACK;
SET CONSTRAINTS ALL DEFERRED;
SELECT conname, condeferrable, condeferred, pg_get_constraintdef(oid) FROM pg_constraint WHERE conname LIKE 'fd\_%' AND contype = 'f';
ALTER TABLE fd_other ALTER CONSTRAINT fd_other_b DEFERRABLE INITIALLY DEFERRED;
-- error 42809
ALTER TABLE fd_other ALTER CONSTRAINT fd_other_d DEFERRABLE INITIALLY DEFERRED;
-- error 42704
ALTER TABLE fd_other ALTER CONSTRAINT nothing DEFERRABLE;
BEGIN;
INSERT INTO fd_other VALUES (77, 77);
INSERT INTO fd_child VALUES (78, 78);
-- error 23503
COMMIT;
BEGIN;
INSERT INTO fd_other VALUES (77, 77);
DELETE FROM fd_other WHERE b = 77;
COMMIT;
ALTER TABLE fd_other ALTER CONSTRAINT fd_other_b NOT DEFERRABLE;
BEGIN;
-- error 23503
INSERT INTO fd_other VALUES (77, 77);
ROLLBACK;
SELECT constraint_name, is_deferrable, initially_deferred FROM information_schema.table_constraints WHERE constraint_name LIKE 'fd\_%' AND constraint_type = 'FOREIGN KEY';
BEGIN;
TRUNCATE fd_child;
INSERT INTO fd_child VALUES (55, 5);
-- error 55006
-- differs: what is put off goes with its table
DROP TABLE fd_child;
ROLLBACK;
-- what SET CONSTRAINTS said is undone with its savepoint
CREATE TABLE fd_own (id integer PRIMARY KEY, ref integer REFERENCES fd_own DEFERRABLE);
BEGIN;
SAVEPOINT s;
SET CONSTRAINTS ALL DEFERRED;
ROLLBACK TO s;
-- error 23503
INSERT INTO fd_own VALUES (1, 5);
ROLLBACK;
BEGIN;
SET CONSTRAINTS ALL DEFERRED;
INSERT INTO fd_own VALUES (1, 5);
SAVEPOINT s;
-- error 23503
SET CONSTRAINTS ALL IMMEDIATE;
ROLLBACK TO s;
INSERT INTO fd_own VALUES (5, 1);
COMMIT;

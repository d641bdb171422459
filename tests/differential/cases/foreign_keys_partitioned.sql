-- Foreign keys from and to partitioned tables.
-- cases
CREATE TABLE fp_p (a integer, b text, PRIMARY KEY (a)) PARTITION BY RANGE (a);
CREATE TABLE fp_p1 PARTITION OF fp_p FOR VALUES FROM (0) TO (10);
CREATE TABLE fp_p2 PARTITION OF fp_p FOR VALUES FROM (10) TO (20);
INSERT INTO fp_p SELECT g, 'x' FROM generate_series(0, 19) AS g;
CREATE TABLE fp_c (id integer, a integer REFERENCES fp_p);
INSERT INTO fp_c VALUES (1, 3), (2, 13), (3, NULL);
-- error 23503
INSERT INTO fp_c VALUES (4, 99);
-- error 23503
INSERT INTO fp_c SELECT g, g FROM generate_series(0, 3000) AS g;
-- error 23503
DELETE FROM fp_p WHERE a = 3;
-- error 23503
DELETE FROM fp_p2 WHERE a = 13;
DELETE FROM fp_p WHERE a IN (4, 14);
-- error 23503
UPDATE fp_p1 SET a = 4 WHERE a = 3;
-- error 23503
UPDATE fp_p SET a = 14 WHERE a = 13;
DELETE FROM fp_p1 WHERE a = 5;
UPDATE fp_p SET b = 'y' WHERE a = 3;
-- error 2BP01
DROP TABLE fp_p1;
-- error 0A000
TRUNCATE fp_p1;
-- error 0A000
TRUNCATE fp_p;
-- error 23503
ALTER TABLE fp_p DETACH PARTITION fp_p1;
SELECT conname, confrelid::regclass, conislocal, coninhcount, pg_get_constraintdef(oid) FROM pg_constraint
WHERE contype = 'f' AND conrelid = 'fp_c'::regclass AND conparentid = 0;
-- A partitioned table with a foreign key: its partitions have it too.
CREATE TABLE fp_d (id integer, k integer, a integer CONSTRAINT fp_d_fk REFERENCES fp_p ON DELETE CASCADE ON UPDATE SET NULL)
PARTITION BY LIST (id);
CREATE TABLE fp_d1 PARTITION OF fp_d FOR VALUES IN (1);
CREATE TABLE fp_d2 PARTITION OF fp_d FOR VALUES IN (2);
INSERT INTO fp_d VALUES (1, 1, 7), (2, 2, 7), (1, 3, 8), (2, 4, 17);
-- error 23503
INSERT INTO fp_d VALUES (1, 5, 99);
-- error 23503
INSERT INTO fp_d2 VALUES (2, 5, 99);
-- error 23503
UPDATE fp_d SET a = 99 WHERE k = 1;
-- error 23503
UPDATE fp_d1 SET a = 99 WHERE k = 1;
DELETE FROM fp_p WHERE a = 7;
SELECT * FROM fp_d;
DELETE FROM fp_p WHERE a = 9;
UPDATE fp_p SET a = 9 WHERE a = 8;
UPDATE fp_p SET a = 7 WHERE a = 17;
SELECT * FROM fp_d;
-- ordered
SELECT conname, conrelid::regclass::text, confrelid::regclass, conislocal, coninhcount, pg_get_constraintdef(oid) FROM pg_constraint
WHERE contype = 'f' AND conrelid IN ('fp_d'::regclass, 'fp_d1'::regclass) AND confrelid = 'fp_p'::regclass ORDER BY 2;
-- error 42P16
ALTER TABLE fp_d1 DROP CONSTRAINT fp_d_fk;
-- error 42809
ALTER TABLE fp_d ADD FOREIGN KEY (a) REFERENCES fp_p NOT VALID;
-- A partition that is attached takes the foreign key; one that is detached keeps it.
CREATE TABLE fp_d3 (id integer, k integer, a integer);
INSERT INTO fp_d3 VALUES (3, 1, 77);
-- error 23503
ALTER TABLE fp_d ATTACH PARTITION fp_d3 FOR VALUES IN (3);
UPDATE fp_d3 SET a = 13;
ALTER TABLE fp_d ATTACH PARTITION fp_d3 FOR VALUES IN (3);
-- error 23503
UPDATE fp_d3 SET a = 77;
ALTER TABLE fp_d DETACH PARTITION fp_d3;
-- error 23503
UPDATE fp_d3 SET a = 77;
SELECT conname, conislocal, coninhcount, pg_get_constraintdef(oid) FROM pg_constraint
WHERE conrelid = 'fp_d3'::regclass AND contype = 'f' AND confrelid = 'fp_p'::regclass;
ALTER TABLE fp_d DROP CONSTRAINT fp_d_fk;
INSERT INTO fp_d VALUES (1, 9, 99);
INSERT INTO fp_d1 VALUES (1, 9, 98);
-- error 23503
ALTER TABLE fp_d ADD CONSTRAINT fp_again FOREIGN KEY (a) REFERENCES fp_p;
DELETE FROM fp_d WHERE a IN (98, 99);
ALTER TABLE fp_d ADD CONSTRAINT fp_again FOREIGN KEY (a) REFERENCES fp_p DEFERRABLE;
-- error 23503
INSERT INTO fp_d1 VALUES (1, 9, 98);
BEGIN;
SET CONSTRAINTS fp_again DEFERRED;
INSERT INTO fp_d VALUES (1, 9, 98);
-- error 23503
COMMIT;
-- Keys of several columns, and a table that refers to itself.
CREATE TABLE fp_e (r text, n integer, up integer, PRIMARY KEY (r, n), FOREIGN KEY (r, up) REFERENCES fp_e ON DELETE SET NULL (up))
PARTITION BY LIST (r);
CREATE TABLE fp_ea PARTITION OF fp_e FOR VALUES IN ('a');
CREATE TABLE fp_eb PARTITION OF fp_e DEFAULT;
INSERT INTO fp_e VALUES ('a', 1, NULL), ('a', 2, 1), ('b', 1, NULL), ('b', 2, 1);
-- error 23503
INSERT INTO fp_e VALUES ('c', 2, 1);
DELETE FROM fp_e WHERE n = 1 AND r = 'a';
SELECT * FROM fp_e;
DROP TABLE fp_p1 CASCADE;
DELETE FROM fp_p;
DROP TABLE fp_p CASCADE;

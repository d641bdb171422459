-- Row-level triggers of partitioned tables: they fire for the partition of each row.
-- setup
CREATE TABLE pg_log (n serial, what text);
CREATE FUNCTION pg_note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO pg_log (what) VALUES (concat_ws(' ', tg_name, tg_when, tg_op, tg_table_name, tg_level,
        CASE WHEN tg_op <> 'INSERT' AND tg_level = 'ROW' THEN old::text END, CASE WHEN tg_op <> 'DELETE' AND tg_level = 'ROW' THEN new::text END))
    ; IF tg_op = 'DELETE' THEN RETURN old; END IF; RETURN new; END $$;
CREATE FUNCTION pg_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF new.b = 'skip' THEN RETURN NULL; END IF; IF new.b = 'move' THEN new.a := new.a + 10; END IF
    ; new.b := upper(new.b); RETURN new; END $$;
CREATE TABLE pg_t (a integer, b text, c integer DEFAULT 7) PARTITION BY RANGE (a);
CREATE TABLE pg_t1 PARTITION OF pg_t FOR VALUES FROM (0) TO (10);
CREATE TABLE pg_t2 (c integer, b text, a integer);
ALTER TABLE pg_t ATTACH PARTITION pg_t2 FOR VALUES FROM (10) TO (20);
-- cases
CREATE TRIGGER change BEFORE INSERT OR UPDATE ON pg_t FOR EACH ROW EXECUTE FUNCTION pg_change();
CREATE TRIGGER note AFTER INSERT OR UPDATE OR DELETE ON pg_t FOR EACH ROW EXECUTE FUNCTION pg_note();
CREATE TRIGGER whole AFTER INSERT ON pg_t EXECUTE FUNCTION pg_note();
CREATE TRIGGER big AFTER INSERT ON pg_t FOR EACH ROW WHEN (new.a > 14) EXECUTE FUNCTION pg_note();
INSERT INTO pg_t VALUES (1, 'x'), (12, 'y'), (2, 'skip'), (15, 'z') RETURNING *;
INSERT INTO pg_t2 (a, b) VALUES (16, 'w');
-- error 0A000
INSERT INTO pg_t VALUES (3, 'move');
-- error 23514
INSERT INTO pg_t VALUES (33, 'q');
UPDATE pg_t SET c = c + 1, b = b || 'v' WHERE a < 15;
UPDATE pg_t1 SET c = 0;
DELETE FROM pg_t WHERE a IN (1, 15);
MERGE INTO pg_t USING (VALUES (12, 'm'), (4, 'n')) AS s (a, b) ON pg_t.a = s.a
WHEN MATCHED THEN UPDATE SET b = s.b WHEN NOT MATCHED THEN INSERT VALUES (s.a, s.b);
-- ordered
SELECT * FROM pg_t ORDER BY a;
SELECT what FROM pg_log;
-- ordered
SELECT tgrelid::regclass::text, tgname, tgparentid <> 0, tgenabled, tgtype, pg_get_triggerdef(oid) FROM pg_trigger
WHERE NOT tgisinternal AND tgrelid::regclass::text LIKE 'pg\_t%' ORDER BY 1, 2;
-- error 2BP01
DROP TRIGGER note ON pg_t1;
ALTER TRIGGER big ON pg_t RENAME TO large;
ALTER TABLE pg_t DISABLE TRIGGER note;
INSERT INTO pg_t VALUES (17, 'p');
CREATE TABLE pg_t3 PARTITION OF pg_t DEFAULT;
-- ordered
SELECT tgrelid::regclass::text, tgname, tgenabled FROM pg_trigger
WHERE NOT tgisinternal AND tgrelid::regclass::text LIKE 'pg\_t%' ORDER BY 1, 2;
DROP TRIGGER note ON pg_t;
CREATE OR REPLACE TRIGGER large AFTER DELETE ON pg_t FOR EACH ROW EXECUTE FUNCTION pg_note();
ALTER TABLE pg_t DETACH PARTITION pg_t2;
-- ordered
SELECT tgrelid::regclass::text, tgname, tgenabled FROM pg_trigger
WHERE NOT tgisinternal AND tgrelid::regclass::text LIKE 'pg\_t%' ORDER BY 1, 2;
DELETE FROM pg_t;
DELETE FROM pg_t2;
SELECT count(*), max(what) FROM pg_log;
-- error 0A000
CREATE TRIGGER no AFTER INSERT ON pg_t REFERENCING NEW TABLE AS n FOR EACH ROW EXECUTE FUNCTION pg_note();
INSERT INTO pg_t VALUES (5, 'a');
CREATE TABLE pg_t4 PARTITION OF pg_t FOR VALUES FROM (40) TO (50) PARTITION BY LIST (a);
CREATE TABLE pg_t41 PARTITION OF pg_t4 FOR VALUES IN (41);
INSERT INTO pg_t VALUES (41, 'deep');
DELETE FROM pg_t4;
SELECT what FROM pg_log WHERE what LIKE '%t41%';
ALTER TABLE pg_t DETACH PARTITION pg_t4;
SELECT count(*) FROM pg_trigger WHERE tgrelid IN ('pg_t4'::regclass, 'pg_t41'::regclass) AND NOT tgisinternal;
-- refused 0A000: DELETE and INSERT would fire
UPDATE pg_t SET a = 55;
-- refused 0A000: a trigger of one partition alone
CREATE TRIGGER own AFTER INSERT ON pg_t1 FOR EACH ROW EXECUTE FUNCTION pg_note();

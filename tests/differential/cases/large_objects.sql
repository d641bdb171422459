-- Large objects: made, written, read, sought, truncated, dropped, owned, granted; within transactions and savepoints.
-- cases
SELECT lo_create(900001);
-- error 23505
SELECT lo_create(900001);
SELECT lo_create(0) > 0, lo_creat(-1) > 0;
SELECT lo_put(900001, 0, 'hello world');
SELECT lo_get(900001);
SELECT lo_get(900001, 6, 3), lo_get(900001, 6, 100), lo_get(900001, 100, 5), lo_get(900001, 0, 0);
SELECT lo_put(900001, 4090, '\x0102030405060708090a');
SELECT length(lo_get(900001)), lo_get(900001, 4085, 12), encode(sha256(lo_get(900001)), 'hex');
SELECT loid, pageno, length(data), encode(sha256(data), 'hex') FROM pg_largeobject WHERE loid = 900001 ORDER BY 2;
SELECT lo_put(900001, 4, 'XYZ'), lo_put(900001, 2046, 'abcd');
SELECT lo_get(900001, 0, 12), lo_get(900001, 2040, 20);
SELECT lo_from_bytea(900002, decode(repeat('00ff41', 3000), 'hex'));
SELECT length(lo_get(900002)), encode(sha256(lo_get(900002)), 'hex');
SELECT count(*), sum(length(data)) FROM pg_largeobject WHERE loid IN (900001, 900002);
SELECT lo_from_bytea(900003, '');
SELECT lo_get(900003), length(lo_get(900003, 5, 5));
SELECT oid, lomowner::regrole = current_user::regrole, lomacl FROM pg_largeobject_metadata
WHERE oid BETWEEN 900000 AND 900009 ORDER BY oid;
-- error 42704
SELECT lo_get(900099);
-- error 42704
SELECT lo_put(900099, 0, 'x');
-- error 42704
SELECT lo_unlink(900099);
-- error 42704
SELECT lo_open(900099, 262144);
-- error 22023
SELECT lo_open(900001, 0);
-- error 22023
SELECT lo_get(900001, 0, -1);
-- error 22023
SELECT lo_get(900001, -1, 1);
-- error 22023
SELECT lo_put(900001, -1, 'x');
-- error 23505
SELECT lo_from_bytea(900001, 'x');
-- error 42704
SELECT loread(0, 5);
-- error 42704
SELECT lowrite(7, 'x');
SELECT lo_get(NULL), lo_put(900001, NULL, 'x') IS NULL, lo_create(NULL), lo_unlink(NULL), lo_open(NULL, 1);
BEGIN;
SELECT lo_open(900001, 131072 | 262144);
SELECT lo_tell(0), lo_lseek(0, 5, 0), lo_tell(0), lo_lseek(0, -2, 1), lo_lseek(0, -4, 2), lo_tell64(0);
SELECT loread(0, 100), loread(0, 100);
SELECT lo_lseek(0, 0, 0), lowrite(0, 'HELLO'), lo_tell(0), lowrite(0, ''), loread(0, 4);
SELECT lo_lseek64(0, 5000000000, 0), lo_tell64(0);
-- error 22003
SELECT lo_tell(0);
ROLLBACK;
SELECT lo_get(900001, 0, 12);
BEGIN;
SELECT lo_open(900001, 131072), lo_open(900002, 262144), lo_open(900001, 262144);
SELECT lo_close(1);
SELECT lo_open(900003, 262144), lo_open(900003, 262144);
-- error 55000
SELECT lowrite(1, 'x');
ROLLBACK;
BEGIN;
SELECT lo_open(900002, 262144);
-- error 22023
SELECT lo_lseek(0, -1, 0);
ROLLBACK;
BEGIN;
SELECT lo_open(900002, 262144);
-- error 22023
SELECT lo_lseek(0, 0, 3);
ROLLBACK;
BEGIN;
SELECT lo_open(900002, 262144);
-- error 55000
SELECT lo_truncate(0, 3);
ROLLBACK;
-- error 42704
SELECT lo_close(0);
BEGIN;
SELECT lo_open(900001, 131072);
SELECT lo_truncate(0, 3);
SELECT lo_get(900001), lo_lseek(0, 0, 2);
SELECT lo_truncate(0, 3000);
SELECT length(lo_get(900001)), encode(sha256(lo_get(900001)), 'hex');
SELECT pageno, length(data) FROM pg_largeobject WHERE loid = 900001 ORDER BY 1;
SELECT lo_truncate64(0, 2048);
SELECT pageno, length(data) FROM pg_largeobject WHERE loid = 900001 ORDER BY 1;
-- error 22023
SELECT lo_truncate(0, -1);
ROLLBACK;
SELECT length(lo_get(900001));
-- what a savepoint restores
BEGIN;
SELECT lo_open(900003, 131072);
SELECT lowrite(0, 'before');
SAVEPOINT s;
SELECT lowrite(0, ' after'), lo_open(900001, 262144), lo_create(900004);
SELECT lo_get(900003);
ROLLBACK TO SAVEPOINT s;
SELECT lo_get(900003), lo_tell(0);
-- error 42704
SELECT loread(1, 5);
ROLLBACK TO SAVEPOINT s;
-- error 42704
SELECT lo_get(900004);
ROLLBACK;
SELECT lo_get(900003);
-- a descriptor that only reads has the snapshot of its opening
BEGIN;
SELECT lo_open(900003, 262144), lo_open(900003, 131072);
SELECT lowrite(1, 'new');
SELECT loread(0, 10), lo_get(900003), lo_lseek(1, 0, 0), loread(1, 10);
SELECT lo_unlink(900003);
-- error 42704
SELECT lo_get(900003);
ROLLBACK;
-- over rows
CREATE TABLE lo_images (id int, image oid);
INSERT INTO lo_images SELECT g, lo_from_bytea((900010 + g)::oid, decode(repeat(to_hex(16 + g), g), 'hex')) FROM generate_series(1, 5) AS g;
SELECT id, lo_get(image) FROM lo_images ORDER BY id;
SELECT id, lo_get(image, 1, 2) AS part, length(lo_get(image)) FROM lo_images WHERE id > 2 ORDER BY id;
SELECT lo_unlink(image) FROM lo_images WHERE id > 3;
SELECT oid FROM pg_largeobject_metadata WHERE oid BETWEEN 900010 AND 900019 ORDER BY 1;
CREATE FUNCTION lo_copy(source oid, target oid) RETURNS oid LANGUAGE plpgsql AS $$ DECLARE copied oid; BEGIN copied := lo_from_bytea(target, lo_get(source)); PERFORM lo_put(copied, 0, 'P'); RETURN copied; END $$;
SELECT lo_copy(900013::oid, 900020::oid), lo_copy(900013::oid, 900021::oid);
SELECT lo_get(900020), lo_get(900021);
DO $$ BEGIN PERFORM lo_unlink(900020); RAISE EXCEPTION 'undone'; EXCEPTION WHEN OTHERS THEN NULL; END $$;
SELECT lo_get(900020);
-- comments, owners and privileges
COMMENT ON LARGE OBJECT 900001 IS 'a picture';
SELECT obj_description(900001, 'pg_largeobject');
COMMENT ON LARGE OBJECT 900001 IS NULL;
SELECT obj_description(900001, 'pg_largeobject');
-- error 42704
COMMENT ON LARGE OBJECT 900099 IS 'none';
CREATE ROLE lo_owner;
CREATE ROLE lo_reader;
ALTER LARGE OBJECT 900002 OWNER TO lo_owner;
GRANT SELECT ON LARGE OBJECT 900001, 900002 TO lo_reader;
GRANT UPDATE ON LARGE OBJECT 900002 TO lo_reader WITH GRANT OPTION;
SELECT oid, lomowner::regrole::text = 'lo_owner', array_length(lomacl, 1) FROM pg_largeobject_metadata
WHERE oid IN (900001, 900002) ORDER BY oid;
-- error 0LP01
GRANT DELETE ON LARGE OBJECT 900001 TO lo_reader;
-- error 42704
GRANT SELECT ON LARGE OBJECT 900099 TO lo_reader;
-- error 42704
ALTER LARGE OBJECT 900001 OWNER TO lo_nobody;
-- error 2BP01
DROP ROLE lo_owner;
SET ROLE lo_reader;
SELECT length(lo_get(900001)), length(lo_get(900002));
SELECT lo_put(900002, 0, 'reader');
-- error 42501
SELECT lo_put(900001, 0, 'reader');
-- error 42501
SELECT lo_unlink(900002);
-- error 42501
ALTER LARGE OBJECT 900002 OWNER TO lo_reader;
-- error 42501
COMMENT ON LARGE OBJECT 900002 IS 'mine';
-- error 42501
SELECT lo_get(900013);
-- error 42501
SELECT * FROM pg_largeobject;
SELECT count(*) > 3 FROM pg_largeobject_metadata;
-- error 42501
SELECT lo_import('/nowhere/file');
-- error 42501
SELECT lo_export(900001, '/nowhere/file');
SELECT lo_from_bytea(900030, 'mine');
RESET ROLE;
SELECT lo_get(900030), lo_get(900002, 0, 8);
REVOKE SELECT ON LARGE OBJECT 900001 FROM lo_reader;
SET ROLE lo_reader;
-- error 42501
SELECT lo_get(900001);
RESET ROLE;
SET lo_compat_privileges = on;
SET ROLE lo_reader;
SELECT length(lo_get(900001));
RESET ROLE;
RESET lo_compat_privileges;
REASSIGN OWNED BY lo_owner TO lo_reader;
SELECT lomowner::regrole FROM pg_largeobject_metadata WHERE oid = 900002;
DROP OWNED BY lo_reader;
SELECT oid FROM pg_largeobject_metadata WHERE oid IN (900001, 900002, 900030) ORDER BY 1;
SELECT count(*) FROM pg_largeobject WHERE loid IN (900002, 900030);
DROP ROLE lo_owner;
DROP ROLE lo_reader;
-- error 58P01
SELECT lo_import('/nowhere/file');
-- error 58P01
SELECT lo_export(900001, '/nowhere/file');
-- nothing is changed in a transaction that only reads
BEGIN READ ONLY;
SELECT lo_open(900001, 262144), loread(0, 3);
-- error 25006
SELECT lo_open(900001, 131072);
ROLLBACK;
BEGIN READ ONLY;
-- error 25006
SELECT lo_create(0);
ROLLBACK;
BEGIN READ ONLY;
-- error 25006
SELECT lo_put(900001, 0, 'x');
ROLLBACK;
BEGIN READ ONLY;
-- error 25006
SELECT lo_unlink(900001);
ROLLBACK;
SELECT lo_unlink(oid) FROM pg_largeobject_metadata WHERE oid BETWEEN 900000 AND 900099;
SELECT count(*) FROM pg_largeobject_metadata WHERE oid BETWEEN 900000 AND 900099;
SELECT count(*) FROM pg_largeobject WHERE loid BETWEEN 900000 AND 900099;

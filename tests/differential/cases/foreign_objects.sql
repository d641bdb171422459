-- Foreign-data wrappers, servers, user mappings and foreign tables: definitions alone, of a wrapper that reads nothing.

-- setup
DROP ROLE IF EXISTS fdw_owner, fdw_user;
CREATE ROLE fdw_owner;
CREATE ROLE fdw_user;
GRANT CREATE ON SCHEMA public TO fdw_user;

-- messages
CREATE FOREIGN DATA WRAPPER w;
-- error 42710
CREATE FOREIGN DATA WRAPPER w;
CREATE FOREIGN DATA WRAPPER with_options OPTIONS (debug 'true', "Mixed Name" 'a=b');
-- error 42710
CREATE FOREIGN DATA WRAPPER twice OPTIONS (a '1', a '2');
-- error 42883
CREATE FOREIGN DATA WRAPPER handled HANDLER no_such_handler;
-- error 42883
CREATE FOREIGN DATA WRAPPER handled VALIDATOR no_such_validator;
ALTER FOREIGN DATA WRAPPER with_options OPTIONS (ADD more '1', SET debug 'false', DROP "Mixed Name");
-- error 42710
ALTER FOREIGN DATA WRAPPER with_options OPTIONS (ADD more '2');
-- error 42704
ALTER FOREIGN DATA WRAPPER with_options OPTIONS (SET other '2');
-- error 42704
ALTER FOREIGN DATA WRAPPER with_options OPTIONS (DROP other);
-- error 42704
ALTER FOREIGN DATA WRAPPER missing OPTIONS (a '1');
SELECT fdwname, fdwowner::regrole, fdwhandler, fdwoptions FROM pg_foreign_data_wrapper ORDER BY 1;
CREATE SERVER s TYPE 'kind' VERSION '1' FOREIGN DATA WRAPPER w OPTIONS (host 'a', port '1');
-- error 42710
CREATE SERVER s FOREIGN DATA WRAPPER w;
CREATE SERVER IF NOT EXISTS s FOREIGN DATA WRAPPER w;
-- error 42704
CREATE SERVER other FOREIGN DATA WRAPPER missing;
ALTER SERVER s VERSION '2' OPTIONS (SET host 'b', DROP port);
-- error 42704
ALTER SERVER missing VERSION '2';
SELECT srvname, srvtype, srvversion, srvoptions FROM pg_foreign_server;
CREATE USER MAPPING FOR fdw_user SERVER s OPTIONS (user 'x', password 'y');
-- error 42710
CREATE USER MAPPING FOR fdw_user SERVER s;
CREATE USER MAPPING IF NOT EXISTS FOR fdw_user SERVER s;
CREATE USER MAPPING FOR PUBLIC SERVER s;
-- error 42704
CREATE USER MAPPING FOR nobody SERVER s;
-- error 42704
CREATE USER MAPPING FOR fdw_user SERVER missing;
ALTER USER MAPPING FOR fdw_user SERVER s OPTIONS (SET user 'z');
-- error 42704
ALTER USER MAPPING FOR fdw_owner SERVER s OPTIONS (SET user 'z');
SELECT srvname, usename, umoptions FROM pg_user_mappings ORDER BY 2;
-- error 42704
DROP USER MAPPING FOR fdw_owner SERVER s;
DROP USER MAPPING IF EXISTS FOR fdw_owner SERVER s;
DROP USER MAPPING IF EXISTS FOR fdw_owner SERVER missing;
DROP USER MAPPING IF EXISTS FOR nobody SERVER s;
CREATE FOREIGN TABLE t (a int OPTIONS (name 'x') NOT NULL, b text DEFAULT 'd', CHECK (a > 0)) SERVER s OPTIONS (t 'x');
-- error 42P07
CREATE FOREIGN TABLE t (a int) SERVER s;
CREATE FOREIGN TABLE IF NOT EXISTS t (a int) SERVER s;
-- error 42704
CREATE FOREIGN TABLE u (a int) SERVER missing;
-- error 0A000
CREATE FOREIGN TABLE u (a int PRIMARY KEY) SERVER s;
-- error 0A000
CREATE FOREIGN TABLE u (a int, UNIQUE (a)) SERVER s;
-- error 0A000
CREATE FOREIGN TABLE u (a int REFERENCES t) SERVER s;
SELECT relname, relkind, srvname, ftoptions FROM pg_foreign_table
    JOIN pg_class ON oid = ftrelid JOIN pg_foreign_server s ON s.oid = ftserver;
SELECT attname, attnotnull, attfdwoptions FROM pg_attribute WHERE attrelid = 't'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY 1;
-- error 55000
SELECT * FROM t;
-- error 0A000
SELECT * FROM t TABLESAMPLE system (10);
-- error 42809
CREATE INDEX ON t (a);
-- error 0A000
MERGE INTO t USING (VALUES (1)) AS v (x) ON t.a = v.x WHEN MATCHED THEN DELETE;
ALTER FOREIGN TABLE t ALTER COLUMN a TYPE bigint;
ALTER FOREIGN TABLE t ALTER COLUMN a TYPE int;
ALTER FOREIGN TABLE t OPTIONS (ADD more '1', SET t 'y');
ALTER FOREIGN TABLE t ALTER COLUMN a OPTIONS (SET name 'y');
ALTER FOREIGN TABLE t ALTER COLUMN b SET NOT NULL;
ALTER FOREIGN TABLE t RENAME COLUMN b TO c;
ALTER FOREIGN TABLE t ADD COLUMN d int;
ALTER FOREIGN TABLE t DROP COLUMN d;
COMMENT ON FOREIGN TABLE t IS 'a table';
COMMENT ON SERVER s IS 'a server';
COMMENT ON FOREIGN DATA WRAPPER w IS 'a wrapper';
SELECT attname, attnotnull, attfdwoptions FROM pg_attribute WHERE attrelid = 't'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY 1;
SELECT obj_description('t'::regclass, 'pg_class'),
    (SELECT obj_description(oid, 'pg_foreign_server') FROM pg_foreign_server),
    (SELECT obj_description(oid, 'pg_foreign_data_wrapper') FROM pg_foreign_data_wrapper WHERE fdwname = 'w');
SELECT foreign_data_wrapper_name, authorization_identifier, library_name, foreign_data_wrapper_language
    FROM information_schema.foreign_data_wrappers;
SELECT foreign_data_wrapper_name, option_name, option_value FROM information_schema.foreign_data_wrapper_options;
SELECT foreign_server_name, foreign_data_wrapper_name, foreign_server_type, foreign_server_version, authorization_identifier
    FROM information_schema.foreign_servers;
SELECT foreign_server_name, option_name, option_value FROM information_schema.foreign_server_options;
SELECT foreign_table_schema, foreign_table_name, foreign_server_name FROM information_schema.foreign_tables;
SELECT foreign_table_schema, foreign_table_name, option_name, option_value
    FROM information_schema.foreign_table_options;
SELECT table_schema, table_name, column_name, option_name, option_value FROM information_schema.column_options;
SELECT authorization_identifier, foreign_server_name FROM information_schema.user_mappings;
SELECT authorization_identifier, foreign_server_name, option_name, option_value
    FROM information_schema.user_mapping_options;
SELECT table_name, table_type FROM information_schema.tables
    WHERE table_schema = 'public' AND table_type = 'FOREIGN';
CREATE TABLE plain (a int);
-- error 42809
ALTER FOREIGN TABLE plain OPTIONS (ADD a '1');
-- error 42809
DROP FOREIGN TABLE plain;
DROP TABLE plain;
CREATE VIEW over AS SELECT a FROM t;
-- error 2BP01
DROP FOREIGN TABLE t;
-- error 2BP01
DROP SERVER s;
-- error 2BP01
DROP FOREIGN DATA WRAPPER w;
-- error 42809
DROP TABLE t;
-- error 42704
DROP SERVER missing;
DROP SERVER IF EXISTS missing;
-- error 42704
DROP FOREIGN DATA WRAPPER missing;
DROP FOREIGN DATA WRAPPER IF EXISTS missing;
ALTER SERVER s RENAME TO renamed;
ALTER FOREIGN DATA WRAPPER w RENAME TO v;
SELECT srvname, fdwname FROM pg_foreign_server JOIN pg_foreign_data_wrapper w ON w.oid = srvfdw;

-- privileges
SET ROLE fdw_user;
-- error 42501
CREATE FOREIGN DATA WRAPPER own;
-- error 42501
ALTER FOREIGN DATA WRAPPER v OPTIONS (a '1');
-- error 42501
CREATE SERVER own FOREIGN DATA WRAPPER v;
-- error 42501
ALTER SERVER renamed VERSION '3';
-- error 42501
DROP SERVER renamed;
-- error 42501
DROP FOREIGN DATA WRAPPER v;
-- error 42501
CREATE FOREIGN TABLE own (a int) SERVER renamed;
-- error 42501
ALTER USER MAPPING FOR fdw_user SERVER renamed OPTIONS (SET user 'q');
-- error 42501
CREATE USER MAPPING FOR fdw_owner SERVER renamed;
RESET ROLE;
GRANT USAGE ON FOREIGN DATA WRAPPER v TO fdw_user;
GRANT USAGE ON FOREIGN SERVER renamed TO fdw_user WITH GRANT OPTION;
-- error 0LP01
GRANT SELECT ON FOREIGN SERVER renamed TO fdw_user;
SELECT fdwacl FROM pg_foreign_data_wrapper WHERE fdwname = 'v';
SELECT srvacl FROM pg_foreign_server;
SET ROLE fdw_user;
ALTER USER MAPPING FOR fdw_user SERVER renamed OPTIONS (SET user 'q');
CREATE FOREIGN TABLE own (a int) SERVER renamed;
CREATE SERVER own FOREIGN DATA WRAPPER v;
-- error 42501
CREATE USER MAPPING FOR fdw_owner SERVER renamed;
CREATE USER MAPPING FOR fdw_owner SERVER own;
DROP USER MAPPING FOR fdw_owner SERVER own;
RESET ROLE;
ALTER SERVER own OWNER TO fdw_owner;
-- error 42501
ALTER FOREIGN DATA WRAPPER v OWNER TO fdw_owner;
-- error 2BP01
DROP ROLE fdw_owner;
SELECT srvname, srvowner::regrole FROM pg_foreign_server ORDER BY 1;
DROP SERVER own;
DROP FOREIGN TABLE own;
DROP FOREIGN DATA WRAPPER v CASCADE;
SELECT count(*) FROM pg_foreign_table;
SELECT count(*) FROM pg_user_mapping;
DROP FOREIGN DATA WRAPPER with_options;
REVOKE CREATE ON SCHEMA public FROM fdw_user;
DROP ROLE fdw_owner, fdw_user;

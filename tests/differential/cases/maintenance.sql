-- REINDEX, CLUSTER and VACUUM: what they check before they have nothing to do.
-- setup
DROP ROLE IF EXISTS maintenance_user;
CREATE ROLE maintenance_user;
CREATE SCHEMA mt_s;
CREATE TABLE mt_t (a integer PRIMARY KEY, b integer);
CREATE TABLE mt_plain (a integer);
CREATE INDEX mt_b ON mt_t (b);
CREATE INDEX mt_hash ON mt_t USING hash (b);
CREATE INDEX mt_part ON mt_t (b) WHERE a > 1;
CREATE TABLE mt_s.other (a integer PRIMARY KEY);
CREATE VIEW mt_v AS SELECT 1 AS a;
CREATE MATERIALIZED VIEW mt_m AS SELECT 1 AS a;
INSERT INTO mt_t VALUES (1, 2), (2, 1);
-- messages
REINDEX TABLE mt_t;
REINDEX TABLE mt_plain;
REINDEX TABLE CONCURRENTLY mt_t;
REINDEX TABLE CONCURRENTLY mt_plain;
REINDEX (CONCURRENTLY false) TABLE mt_t;
REINDEX TABLE mt_m;
REINDEX TABLE mt_s.other;
REINDEX TABLE pg_class;
REINDEX INDEX mt_b;
REINDEX INDEX CONCURRENTLY mt_t_pkey;
REINDEX SCHEMA mt_s;
REINDEX SCHEMA CONCURRENTLY mt_s;
-- error 42P01
REINDEX TABLE mt_missing;
-- error 3F000
REINDEX TABLE mt_no.mt_missing;
-- error 42809
REINDEX TABLE mt_v;
-- error 42809
REINDEX TABLE mt_b;
-- error 42P01
REINDEX INDEX mt_missing;
-- error 42809
REINDEX INDEX mt_t;
-- error 42809
REINDEX INDEX pg_class;
-- error 3F000
REINDEX SCHEMA mt_missing;
-- error 0A000
REINDEX DATABASE mt_missing;
-- error 0A000
REINDEX TABLE CONCURRENTLY pg_class;
-- error 0A000
REINDEX SYSTEM CONCURRENTLY;
-- error 42601
REINDEX (nothing) TABLE mt_t;
BEGIN;
REINDEX TABLE mt_t;
-- error 25001
REINDEX TABLE CONCURRENTLY mt_t;
ROLLBACK;
BEGIN;
-- error 25001
REINDEX SCHEMA mt_s;
ROLLBACK;
BEGIN;
-- error 25001
CLUSTER;
ROLLBACK;
CLUSTER;
-- error 42704
CLUSTER mt_t;
-- error 42704
CLUSTER mt_t USING mt_missing;
-- error 42809
CLUSTER mt_plain USING mt_b;
-- error 42809
CLUSTER mt_v;
-- error 42P01
CLUSTER mt_missing USING mt_b;
-- error 0A000
CLUSTER mt_t USING mt_hash;
-- error 0A000
CLUSTER mt_t USING mt_part;
-- error 42601
CLUSTER (nothing) mt_t;
VACUUM pg_class;
VACUUM ANALYZE pg_catalog.pg_type, mt_t;
ANALYZE information_schema.sql_features;
VACUUM pg_stat_activity;
SET ROLE maintenance_user;
-- error 42501
REINDEX TABLE mt_t;
-- error 42501
REINDEX INDEX mt_b;
-- error 42501
REINDEX SCHEMA public;
-- error 42501
REINDEX TABLE mt_s.other;
-- error 42501
REINDEX TABLE pg_class;
-- error 42501
REINDEX SCHEMA pg_catalog;
-- error 42501
CLUSTER mt_t USING mt_b;
VACUUM pg_class;
CLUSTER;
RESET ROLE;
SET vacuum_cost_delay = 2;
SHOW vacuum_cost_delay;
SET vacuum_cost_delay = '500us';
SHOW vacuum_cost_delay;
-- error 22023
SET vacuum_cost_delay = '1s';
-- error 22023
SET vacuum_cost_limit = 0;
RESET vacuum_cost_delay;
-- cases
CLUSTER mt_t USING mt_b;
SELECT sum(a), sum(b) FROM mt_t;
DROP ROLE maintenance_user;

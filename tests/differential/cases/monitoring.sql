-- What monitors and dumps ask: positions in the log of changes, settings of the server, statistics, binary forms.
-- cases
SELECT SYSTEM_USER;
SELECT pg_is_in_recovery(), pg_last_wal_replay_lsn(), pg_last_wal_receive_lsn(), pg_last_xact_replay_timestamp();
SELECT pg_typeof(pg_current_wal_lsn()), pg_typeof(pg_current_wal_insert_lsn()), pg_typeof(pg_current_wal_flush_lsn());
SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), pg_current_wal_lsn()) >= 0, pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') >= 0;
SELECT length(pg_walfile_name(pg_current_wal_lsn())), pg_walfile_name('16/B374D848'), pg_walfile_name('0/3000060');
SELECT pg_wal_lsn_diff('16/B374D848', '16/B374D800'), pg_wal_lsn_diff('0/0', '1/0'), pg_wal_lsn_diff(NULL, '1/0');
SELECT pg_wal_lsn_diff(a, b), a - b FROM (VALUES ('16/B374D848'::pg_lsn, '16/0'::pg_lsn), ('FFFFFFFF/FFFFFFFF', '0/0')) AS v (a, b);
SELECT '16/B374D848'::pg_lsn > '2/B374D800'::pg_lsn, 'A/0'::pg_lsn < '16/0'::pg_lsn, '0/FF'::pg_lsn = '0/FF', '0/1'::pg_lsn <> '0/2';
SELECT '0/1'::pg_lsn + 16, '1/0'::pg_lsn - 1, '0/FF'::pg_lsn::text;
SELECT count(*) >= 0 FROM pg_ls_waldir();
SELECT current_setting('data_directory') <> '';
SELECT name, context, vartype FROM pg_settings WHERE name = 'data_directory';
SET default_with_oids = off;
-- error 0A000
SET default_with_oids = on;
-- error 42704
SET sql_inheritance = on;
-- error 42704
SET checkpoint_segments = 1;
CREATE SEQUENCE mo_s MAXVALUE 5;
SELECT nextval('mo_s');
CREATE SEQUENCE mo_t AS smallint START 3 INCREMENT -1 MINVALUE -32768 MAXVALUE 32767;
-- ordered
SELECT sequencename, last_value, min_value, max_value, data_type FROM pg_sequences WHERE sequencename LIKE 'mo\_%' ORDER BY 1;
SELECT archived_count, failed_count, last_archived_wal, last_archived_time, stats_reset IS NOT NULL FROM pg_stat_archiver;
SELECT count(*), bool_and(stats_reset IS NOT NULL), bool_and(wal_bytes >= 0) FROM pg_stat_wal;
SELECT count(*), bool_and(stats_reset IS NOT NULL) FROM pg_stat_bgwriter;
SELECT count(*) FROM pg_stat_replication;
SELECT count(*) FROM pg_stat_wal_receiver;
SELECT count(*) FROM pg_replication_slots;
SELECT int2send(5::smallint), int4send(-5), int8send(5), oidsend(26), int8send(NULL);
SELECT float4send(1.5), float8send(-1.5), boolsend(true), boolsend(false), boolsend(NULL), byteasend('\x0102');
SELECT textsend('aé'), varcharsend('x'), namesend('x'), json_send('{}'), jsonb_send('{"a": 1}');
SELECT bpcharsend('x'::char(1)), uuid_send('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11');
SELECT date_send('2024-02-29'), time_send('01:00:00.5'), timestamp_send('2024-01-01'), timestamptz_send('2024-01-01 00:00+01');
SELECT interval_send('1 mon 2 days 00:00:03'), interval_send('-1 day');
SELECT g, int8send(g), textsend(g::text) FROM generate_series(1, 3) AS g;

-- EXCLUDE: pairs of rows that are refused, by ranges and by equal values, with predicates; and how the catalog shows it.
-- messages
CREATE TABLE xc_r (id integer, room int4range, during tsrange, EXCLUDE USING gist (room WITH =, during WITH &&));
INSERT INTO xc_r VALUES (1, '[1,2)', '[2024-01-01,2024-01-03)'), (2, '[2,3)', '[2024-01-01,2024-01-03)');
-- error 23P01
INSERT INTO xc_r VALUES (3, '[1,2)', '[2024-01-02,2024-01-05)');
INSERT INTO xc_r VALUES (3, '[1,2)', '[2024-01-03,2024-01-05)'), (4, '[1,2)', NULL), (5, NULL, '[2024-01-01,2024-01-03)');
INSERT INTO xc_r VALUES (6, '[1,2)', 'empty'), (7, '[1,2)', 'empty');
-- error 23P01
INSERT INTO xc_r VALUES (8, '[9,9]', '[2024-01-03,2024-01-05)'), (9, '[9,9]', '[2024-01-04,2024-01-06)');
-- error 23P01
UPDATE xc_r SET during = '[2024-01-02,2024-01-04)' WHERE id = 3;
UPDATE xc_r SET during = during WHERE id = 1;
-- cases
UPDATE xc_r SET room = '[5,6)' WHERE id = 3;
-- ordered
SELECT * FROM xc_r ORDER BY id;
SELECT conname, contype, conkey, condeferrable, condeferred, pg_get_constraintdef(oid) FROM pg_constraint
WHERE conrelid = 'xc_r'::regclass;
SELECT conname, array(SELECT o::regoperator::text FROM unnest(conexclop) AS o) FROM pg_constraint
WHERE conrelid = 'xc_r'::regclass;
SELECT indisunique, indisexclusion, indimmediate, indnatts, indkey::text, pg_get_indexdef(indexrelid) FROM pg_index
WHERE indrelid = 'xc_r'::regclass;
INSERT INTO xc_r VALUES (10, '[1,2)', '[2024-01-01,2024-01-02)') ON CONFLICT DO NOTHING;
INSERT INTO xc_r VALUES (10, '[1,2)', '[2024-01-01,2024-01-02)') ON CONFLICT ON CONSTRAINT xc_r_room_during_excl DO NOTHING;
INSERT INTO xc_r VALUES (11, '[7,8)', '[2024-01-01,2024-01-03)'), (12, '[7,8)', '[2024-01-02,2024-01-05)'),
    (13, '[7,8)', '[2024-01-04,2024-01-06)') ON CONFLICT DO NOTHING RETURNING id;
-- error 42809
INSERT INTO xc_r VALUES (1, '[1,2)', 'empty') ON CONFLICT ON CONSTRAINT xc_r_room_during_excl DO UPDATE SET id = 1;
-- error 42P10
INSERT INTO xc_r VALUES (1, '[1,2)', 'empty') ON CONFLICT (room, during) DO NOTHING;
-- error 23P01
INSERT INTO xc_r SELECT g, '[50,51)', tsrange('2024-01-01'::timestamp + g * interval '1 hour', '2024-01-01'::timestamp + (g + 2) * interval '1 hour')
FROM generate_series(100, 3000) AS g;
INSERT INTO xc_r SELECT g, '[50,51)', tsrange('2024-01-01'::timestamp + g * interval '1 hour', '2024-01-01'::timestamp + (g + 1) * interval '1 hour')
FROM generate_series(100, 3000) AS g;
-- messages
CREATE TABLE xc_w (a integer, r int4range, ok boolean, CONSTRAINT xc_only EXCLUDE USING gist ((r * int4range(0, 10)) WITH &&) WHERE (ok AND a > 0));
INSERT INTO xc_w VALUES (1, '[1,5)', true), (2, '[1,5)', false), (-1, '[1,5)', true), (1, '[20,30)', true), (2, '[20,30)', true);
-- error 23P01
INSERT INTO xc_w VALUES (3, '[4,100)', true);
-- error 23P01
UPDATE xc_w SET ok = true WHERE a = 2 AND r = '[1,5)';
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'xc_only';
CREATE TABLE xc_b (a integer, b text);
ALTER TABLE xc_b ADD CONSTRAINT xc_b_x EXCLUDE (a WITH =, lower(b) WITH =) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE xc_b ADD EXCLUDE USING hash (b WITH =);
BEGIN;
INSERT INTO xc_b VALUES (1, 'x'), (1, 'X');
-- error 23P01
COMMIT;
BEGIN;
INSERT INTO xc_b VALUES (1, 'x'), (1, 'X');
DELETE FROM xc_b WHERE b = 'x';
COMMIT;
-- error 23P01
INSERT INTO xc_b VALUES (3, 'X');
-- ordered
SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'xc_b'::regclass ORDER BY 1;
-- error 42704
ALTER TABLE xc_b ADD EXCLUDE USING gist (a WITH =);
-- error 42809
ALTER TABLE xc_b ADD EXCLUDE USING btree (a WITH <>);
-- error 42809
ALTER TABLE xc_b ADD EXCLUDE (a WITH <);
-- error 42809
ALTER TABLE xc_r ADD EXCLUDE USING gist (during WITH @>);
-- error 42883
ALTER TABLE xc_b ADD EXCLUDE (a WITH &&);
-- error 42703
ALTER TABLE xc_b ADD EXCLUDE (zz WITH =);
-- error 0A000
ALTER TABLE xc_b ADD EXCLUDE USING gin (b WITH =);
-- error 42704
ALTER TABLE xc_b ADD EXCLUDE USING nosuch (b WITH =);
INSERT INTO xc_b VALUES (1, 'y');
-- error 23P01
ALTER TABLE xc_b ADD CONSTRAINT xc_new EXCLUDE (a WITH =);
-- error 0A000
CREATE TABLE xc_p (a int, r int4range, EXCLUDE USING gist (r WITH &&)) PARTITION BY LIST (a);
-- cases
ALTER TABLE xc_r RENAME COLUMN room TO place;
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'xc_r'::regclass;
ALTER TABLE xc_r RENAME CONSTRAINT xc_r_room_during_excl TO xc_renamed;
-- error 23P01
INSERT INTO xc_r VALUES (3, '[1,2)', '[2024-01-02,2024-01-05)');
CREATE TABLE xc_like (LIKE xc_w INCLUDING INDEXES);
SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'xc_like'::regclass;
-- error 2BP01
DROP INDEX xc_renamed;
ALTER TABLE xc_r DROP CONSTRAINT xc_renamed;
INSERT INTO xc_r VALUES (3, '[1,2)', '[2024-01-02,2024-01-05)');

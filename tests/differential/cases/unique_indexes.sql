-- Unique indexes on expressions and on some of the rows: what they refuse, ON CONFLICT, and how the catalog shows them.
-- setup
CREATE TABLE ux_u (id integer PRIMARY KEY, email text, active boolean DEFAULT true, kind text, n integer, note text);
INSERT INTO ux_u VALUES (1, 'Ann@x.org', true, 'a', 1), (2, 'bob@x.org', false, 'a', 1), (3, NULL, true, 'b', NULL);
-- messages
CREATE UNIQUE INDEX ux_email ON ux_u (lower(email));
CREATE UNIQUE INDEX ux_active ON ux_u (kind) WHERE active;
CREATE UNIQUE INDEX ux_sum ON ux_u ((n + 1), kind) WHERE n > 5 AND active IS NOT FALSE;
CREATE UNIQUE INDEX ON ux_u (kind, upper(email)) NULLS NOT DISTINCT WHERE id > 100;
CREATE UNIQUE INDEX ux_desc ON ux_u (id DESC, n) INCLUDE (note) WITH (fillfactor = 70);
CREATE UNIQUE INDEX ON ux_u (lower(kind), lower(email), (id % 7));
-- error 23505
CREATE UNIQUE INDEX ux_no ON ux_u (lower(kind));
-- error 23505
CREATE UNIQUE INDEX ux_no ON ux_u (n) WHERE id < 3;
-- error 42P17
CREATE UNIQUE INDEX ux_no ON ux_u ((now()));
-- error 42P17
CREATE UNIQUE INDEX ux_no ON ux_u (id) WHERE random() > 0.5;
-- error 42703
CREATE UNIQUE INDEX ux_no ON ux_u (lower(zz));
-- error 23505
INSERT INTO ux_u VALUES (4, 'ANN@x.org', false, 'c', 2);
-- error 23505
INSERT INTO ux_u VALUES (4, 'dan@x.org', true, 'a', 2);
INSERT INTO ux_u VALUES (4, 'dan@x.org', false, 'a', 2), (5, NULL, false, 'a', 3);
-- error 23505
UPDATE ux_u SET active = true WHERE id = 4;
-- error 23505
UPDATE ux_u SET email = 'BOB@X.ORG' WHERE id = 5;
UPDATE ux_u SET email = upper(email);
UPDATE ux_u SET n = n + 10 WHERE id IN (1, 2);
-- error 23505
INSERT INTO ux_u VALUES (6, 'e', true, 'd', 7), (7, 'f', NULL, 'd', 7);
INSERT INTO ux_u VALUES (6, 'e', true, 'd', 7), (7, 'f', false, 'd', 7), (8, 'g', NULL, 'e', 7);
-- cases
-- ordered
SELECT id, email, active, kind, n FROM ux_u ORDER BY id;
-- Of several rows of one statement, the first one counts; a row outside the predicate has no key.
INSERT INTO ux_u VALUES (10, 'h', true, 'z', 1), (11, 'H', false, 'y', 1), (12, 'i', true, 'z', 2), (13, 'j', false, 'z', 2)
ON CONFLICT DO NOTHING RETURNING id;
INSERT INTO ux_u VALUES (20, 'ANN@X.ORG', false, 'q', 1) ON CONFLICT (lower(email)) DO NOTHING;
INSERT INTO ux_u VALUES (20, 'ANN@X.ORG', false, 'q', 1)
ON CONFLICT (lower(email)) DO UPDATE SET note = excluded.kind || ux_u.id RETURNING id, note;
INSERT INTO ux_u VALUES (20, 'ANN2@X.ORG', true, 'a', 1)
ON CONFLICT (kind) WHERE active DO UPDATE SET note = excluded.email || ux_u.email RETURNING id, note;
INSERT INTO ux_u VALUES (20, 'ANN2@X.ORG', true, 'a', 1)
ON CONFLICT (kind) WHERE active AND id > 0 DO UPDATE SET note = excluded.email RETURNING id, note;
-- error 42P10
INSERT INTO ux_u VALUES (20, 'ANN2@X.ORG', true, 'a', 1) ON CONFLICT (kind) DO NOTHING;
-- error 42P10
INSERT INTO ux_u VALUES (20, 'ANN2@X.ORG', true, 'a', 1) ON CONFLICT (kind) WHERE id > 0 DO NOTHING;
-- error 42P10
INSERT INTO ux_u VALUES (20, 'ANN2@X.ORG', true, 'a', 1) ON CONFLICT (upper(email)) DO NOTHING;
-- error 42P10
INSERT INTO ux_u VALUES (20, 'ANN2@X.ORG', true, 'a', 1) ON CONFLICT (email) DO NOTHING;
-- error 42704
INSERT INTO ux_u VALUES (20, 'ANN2@X.ORG', true, 'a', 1) ON CONFLICT ON CONSTRAINT ux_email DO NOTHING;
INSERT INTO ux_u VALUES (20, 'k', true, 'd', 7) ON CONFLICT (kind, (n + 1)) WHERE n > 5 AND active IS NOT FALSE
DO UPDATE SET note = 'again' RETURNING id, note;
-- error 21000
INSERT INTO ux_u VALUES (21, 'm', false, 'q', 1), (22, 'M', false, 'q', 1) ON CONFLICT (lower(email)) DO UPDATE SET note = 'x';
INSERT INTO ux_u VALUES (21, 'm', false, 'q', 1), (22, 'M', false, 'q', 1) ON CONFLICT (lower(email)) DO NOTHING RETURNING id;
-- error 23505
INSERT INTO ux_u VALUES (101, NULL, false, 'r', 1), (102, NULL, false, 'r', 2);
-- error 42830
CREATE TABLE ux_f (e text REFERENCES ux_u (email));
-- ordered
SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'ux_u' ORDER BY 1;
-- ordered
SELECT c.relname, indisunique, indisprimary, indnullsnotdistinct, indnatts, indnkeyatts, indkey::text, indoption::text,
    pg_get_expr(indexprs, indrelid), pg_get_expr(indpred, indrelid)
FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid WHERE indrelid = 'ux_u'::regclass ORDER BY 1;
SELECT conname, contype FROM pg_constraint WHERE conrelid = 'ux_u'::regclass;
-- ordered
SELECT relname, attname, attnum, atttypid::regtype FROM pg_attribute JOIN pg_class ON oid = attrelid
WHERE relname LIKE 'ux\_%' AND relkind = 'i' ORDER BY 1, 3;
-- A function of users: one that is not immutable is refused, the text shows it as it is found.
CREATE FUNCTION ux_norm(text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT trim(lower($1)) $$;
CREATE FUNCTION ux_stable(text) RETURNS text LANGUAGE sql STABLE AS $$ SELECT $1 || now()::text $$;
CREATE TABLE ux_w (a text);
CREATE UNIQUE INDEX ux_w_norm ON ux_w (ux_norm(a));
-- error 42P17
CREATE UNIQUE INDEX ON ux_w (ux_stable(a));
INSERT INTO ux_w VALUES (' x ');
-- error 23505
INSERT INTO ux_w VALUES ('X');
-- ordered
SELECT pg_get_indexdef('ux_w_norm'::regclass);
-- What division would fail for the rows that an index leaves out is not computed.
CREATE TABLE ux_d (a integer, b integer);
CREATE UNIQUE INDEX ux_d_q ON ux_d ((100 / a)) WHERE a <> 0;
INSERT INTO ux_d VALUES (0, 1), (0, 2), (50, 3);
-- error 23505
INSERT INTO ux_d VALUES (0, 4), (40, 5);
BEGIN;
INSERT INTO ux_d VALUES (10, 1);
SAVEPOINT s;
-- error 23505
INSERT INTO ux_d VALUES (10, 1);
ROLLBACK TO s;
DELETE FROM ux_d WHERE a = 10;
INSERT INTO ux_d VALUES (10, 2);
COMMIT;
SELECT a, b FROM ux_d WHERE a > 0;
ALTER TABLE ux_d RENAME COLUMN a TO aa;
-- error 23505
INSERT INTO ux_d VALUES (10, 1);
SELECT pg_get_indexdef('ux_d_q'::regclass);
-- error 23505
INSERT INTO ux_d SELECT g, g FROM generate_series(11, 5000) g;
CREATE TABLE ux_copy (LIKE ux_d INCLUDING ALL);
SELECT indexdef FROM pg_indexes WHERE tablename = 'ux_copy';
-- error 23505
INSERT INTO ux_copy VALUES (40, 1), (41, 2);
DROP INDEX ux_d_q;
INSERT INTO ux_d VALUES (10, 1);
ALTER TABLE ux_u DROP COLUMN email;
-- ordered
SELECT indexname FROM pg_indexes WHERE tablename = 'ux_u' ORDER BY 1;
-- Partitions have the index each.
CREATE TABLE ux_p (a integer, b text) PARTITION BY LIST (a);
CREATE TABLE ux_p1 PARTITION OF ux_p FOR VALUES IN (1);
CREATE UNIQUE INDEX ux_pi ON ux_p (a, lower(b)) WHERE length(b) > 0;
CREATE TABLE ux_p2 PARTITION OF ux_p FOR VALUES IN (2);
-- error 0A000
CREATE UNIQUE INDEX ux_pj ON ux_p (lower(b));
INSERT INTO ux_p VALUES (1, 'x'), (2, 'X'), (1, ''), (1, '');
-- error 23505
INSERT INTO ux_p VALUES (2, 'x');
INSERT INTO ux_p VALUES (2, 'x'), (3 - 1, 'y') ON CONFLICT DO NOTHING RETURNING *;
-- ordered
SELECT indexname, indexdef FROM pg_indexes WHERE tablename LIKE 'ux\_p_' ORDER BY 1;

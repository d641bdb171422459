-- Functions, types and schemas that are renamed while checks, defaults, triggers, domains and views name them.
-- cases
CREATE SCHEMA rn;
CREATE FUNCTION rn.pos(a integer) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT a > 0';
CREATE TABLE rn.k (a integer CHECK (rn.pos(a)), b boolean DEFAULT rn.pos(1));
CREATE VIEW rn.v AS SELECT a, rn.pos(a) AS p FROM rn.k;
ALTER FUNCTION rn.pos(integer) RENAME TO positive;
INSERT INTO rn.k VALUES (1);
-- error 23514
INSERT INTO rn.k VALUES (-1);
SELECT * FROM rn.k;
SELECT * FROM rn.v;
CREATE FUNCTION rn.tr() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.b := NULL; RETURN NEW; END';
CREATE TRIGGER w BEFORE INSERT ON rn.k FOR EACH ROW WHEN (rn.positive(NEW.a - 5)) EXECUTE FUNCTION rn.tr();
ALTER FUNCTION rn.positive(integer) RENAME TO plus;
INSERT INTO rn.k VALUES (2), (9);
SELECT * FROM rn.k ORDER BY a;
CREATE TYPE rn.mood AS ENUM ('a', 'b');
CREATE TABLE rn.m (x rn.mood DEFAULT 'b'::rn.mood CHECK (x <> 'a'::rn.mood));
CREATE DOMAIN rn.few AS integer CHECK (rn.plus(VALUE));
ALTER TYPE rn.mood RENAME TO feel;
INSERT INTO rn.m DEFAULT VALUES;
-- error 23514
INSERT INTO rn.m VALUES ('a');
SELECT x, pg_typeof(x) FROM rn.m;
ALTER SCHEMA rn RENAME TO sn;
INSERT INTO sn.k VALUES (3), (8);
-- error 23514
INSERT INTO sn.k VALUES (-3);
INSERT INTO sn.m VALUES ('b');
SELECT 5::sn.few;
-- error 23514
SELECT -5::sn.few, (-5)::sn.few;
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid IN ('sn.k'::regclass, 'sn.m'::regclass) ORDER BY 1;
SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = 'sn.k'::regclass;
CREATE SCHEMA tn;
ALTER FUNCTION sn.plus(integer) SET SCHEMA tn;
ALTER TYPE sn.feel SET SCHEMA tn;
INSERT INTO sn.k VALUES (4);
-- error 23514
INSERT INTO sn.k VALUES (-4);
-- error 23514
INSERT INTO sn.m VALUES ('a');
SELECT * FROM sn.v ORDER BY a;
CREATE FUNCTION tn.plus(a text) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT a > ''0''';
DROP SCHEMA sn CASCADE;
DROP SCHEMA tn CASCADE;

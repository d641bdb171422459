-- DateStyle: every format and order, in results, texts, arrays, rows, ranges, JSON, COPY and PL/pgSQL, and of texts that are read.
-- setup
CREATE TABLE ds_t (id integer, d date, t timestamp, z timestamptz, i interval);
INSERT INTO ds_t VALUES
  (1, '1997-12-17', '1997-12-17 07:37:16', '1997-12-17 07:37:16-08', '1 year 2 mons -3 days 04:05:06.5'),
  (2, '2003-02-01', '2003-02-01 00:00:00.5', '2003-07-01 12:00:00+00', '-1 day -02:03:04'),
  (3, '0044-03-15 BC', '0044-03-15 01:02:03 BC', '0044-03-15 01:02:03+00 BC', '0'),
  (4, 'infinity', '-infinity', 'infinity', '3 mons'),
  (5, '12345-01-02', '12345-01-02 03:04:05', '12345-01-02 03:04:05+00', '-3 hours'),
  (6, NULL, NULL, NULL, NULL);
CREATE TABLE ds_texts (id integer, x text);
INSERT INTO ds_texts VALUES (1, '01/02/03'), (2, '2003-04-05'), (3, '1-2-2003'), (4, '01.02.2003'), (5, '5 Jan 2003'), (6, 'Jan-05-03'), (7, '2003-Jan-08'), (8, '08-Jan-2003');
SET TimeZone TO 'America/New_York';
-- cases
SET DateStyle TO 'SQL';
SHOW DateStyle;
SELECT * FROM ds_t;
SELECT id, d::text, t::text, z::text, i::text, 'x' || d, concat(t, z), format('%s', z) FROM ds_t;
SELECT id, x::date FROM ds_texts;
SELECT to_json(d), to_jsonb(t), to_json(z), json_build_object(d, z), row_to_json(ds_t), jsonb_build_object('a', d) FROM ds_t WHERE id < 4;
SELECT array_agg(d), array_agg(z), array_agg(ROW(d, t)) FROM ds_t WHERE id < 3;
SELECT daterange(d, d + 1), tsrange(t, t), tstzrange(z, NULL), ROW(d, z), ARRAY[ROW(t)], array_to_string(ARRAY[d], ',') FROM ds_t WHERE id < 3;
SELECT string_agg(d::text, ',' ORDER BY d) FROM ds_t WHERE id < 3;
SET DateStyle TO DMY;
SHOW DateStyle;
SELECT * FROM ds_t;
SELECT id, d::text, t::text, z::text FROM ds_t;
SELECT id, x::date, x::timestamp FROM ds_texts;
SELECT '01/02/03'::date, '31/01/2003'::date, date '5.6.2007', timestamp '17/12/1997 07:37', timestamptz '17/12/1997 07:37';
-- error 22008
SELECT '01/31/2003'::date;
-- error 22008
SELECT x::date FROM (VALUES ('01/31/2003')) v(x);
SET DateStyle TO 'Postgres';
SHOW DateStyle;
SELECT * FROM ds_t;
SELECT id, d::text, t::text, z::text FROM ds_t;
SET DateStyle TO 'mdy';
SELECT * FROM ds_t;
SELECT id, d::text, t::text, z::text FROM ds_t;
SELECT tstzrange(z, z, '[]'), ARRAY[t], ROW(z, d) FROM ds_t WHERE id < 3;
SET TimeZone TO '+05:30';
SELECT z, z::text FROM ds_t;
SET TimeZone TO 'Asia/Ho_Chi_Minh';
SELECT z, z::text FROM ds_t WHERE id < 3;
SET TimeZone TO 'Europe/Berlin';
SELECT z, z::text FROM ds_t;
SET DateStyle TO 'German';
SHOW DateStyle;
SELECT * FROM ds_t;
SELECT id, d::text, t::text, z::text FROM ds_t;
SELECT id, x::date FROM ds_texts;
SET DateStyle TO 'german, mdy';
SHOW DateStyle;
SELECT d, t, z FROM ds_t WHERE id < 3;
SET DateStyle TO 'ISO, YMD';
SHOW DateStyle;
SELECT id, x::date FROM ds_texts WHERE id NOT IN (3, 4);
SELECT '01/02/03'::date, '99-12-31'::date, '99-Jan-08'::date, 'Jan-08-1999'::date, '08-Jan-1999'::date;
-- error 22008
SELECT '08-Jan-99'::date;
-- error 22008
SELECT '01/02/2003'::date;
-- error 22008
SELECT 'Jan-08-99'::date;
SELECT pg_input_is_valid('01/02/2003', 'date'), pg_input_is_valid(x, 'date') FROM ds_texts WHERE id = 3;
SET DateStyle TO 'SQL, Euro';
SHOW DateStyle;
SELECT '[01/02/2003,03/02/2003)'::daterange, x::daterange FROM (VALUES ('[01/02/2003,05/02/2003)')) v(x);
SELECT '{01/02/2003,NULL}'::date[], x::date[] FROM (VALUES ('{03/02/2003}')) v(x);
SELECT '01/02/2003 12:00 America/New_York'::timetz, x::timetz FROM (VALUES ('07/01/2003 12:00 America/New_York')) v(x);
SELECT * FROM json_to_record('{"a": "01/02/2003", "b": "02/03/2003 04:05"}') AS (a date, b timestamp);
SELECT (json_populate_record(NULL::ds_t, '{"d": "04/05/2006"}')).d;
SELECT to_date('01/02/2003', 'MM/DD/YYYY'), to_char(date '2003-02-01', 'YYYY-MM-DD');
SELECT d = '17/12/1997', d > '01/12/1997' FROM ds_t WHERE id = 1;
SELECT min(d), max(t), d + 1, t - '01/01/1997' FROM ds_t WHERE id < 3 GROUP BY d, t;
PREPARE ds_p(date) AS SELECT $1, $1::text, 'x' || $1;
EXECUTE ds_p('03/04/2005');
INSERT INTO ds_t (id, d, t) VALUES (7, '05/06/2007', '05/06/2007 08:09');
SELECT d, t FROM ds_t WHERE id = 7;
COPY (SELECT d, t, z FROM ds_t WHERE id < 6 ORDER BY id) TO STDOUT;
COPY (SELECT d, t, z FROM ds_t WHERE id < 6 ORDER BY id) TO STDOUT (FORMAT csv);
DO $$ DECLARE d date := '01/02/2003'; r text; BEGIN r := d; INSERT INTO ds_texts VALUES (9, r), (10, d || '!'), (11, d::text); d := '07/08/2009'; r := 'at ' || d; INSERT INTO ds_texts VALUES (12, r); END $$;
SELECT id, x FROM ds_texts WHERE id > 8;
CREATE FUNCTION ds_f(x date) RETURNS text LANGUAGE plpgsql AS $$ BEGIN PERFORM set_config('datestyle', 'German', false); RETURN x; END $$;
SELECT ds_f('01/02/2003');
SHOW DateStyle;
SET DateStyle TO DEFAULT;
SHOW DateStyle;
SELECT ds_f('01/02/2003');
RESET DateStyle;
CREATE FUNCTION ds_g(x date) RETURNS text LANGUAGE plpgsql SET DateStyle TO 'Postgres, DMY' AS $$ BEGIN RETURN x || ' ' || '03/04/2005'::date; END $$;
SELECT ds_g('01/02/2003'), '01/02/2003'::date;
BEGIN;
SET LOCAL DateStyle TO 'SQL, DMY';
SELECT date '01/02/2003';
ROLLBACK;
SELECT date '01/02/2003';
SELECT set_config('DateStyle', 'SQL', false);
SET DateStyle TO 'ISO', 'DMY';
SHOW DateStyle;
-- error 22023
SET DateStyle TO 'ISO, SQL';
-- error 22023
SET DateStyle TO 'DMY, MDY';
-- error 22023
SET DateStyle TO 'nope';
SET DateStyle TO 'PostgreSQL, NonEuropean';
SHOW DateStyle;
SELECT d FROM ds_t WHERE d < '02-15-2003' ORDER BY d;
SELECT d FROM ds_t WHERE d IN ('02-01-2003', '12-17-1997');
SELECT d::text, count(*) FROM ds_t GROUP BY 1;
SELECT DISTINCT t::text FROM ds_t WHERE id < 4;
RESET DateStyle;
CREATE TABLE ds_default (a integer, d date DEFAULT '2003-02-01');
CREATE VIEW ds_v AS SELECT d, d::text AS x FROM ds_t WHERE id = 1;
SELECT * FROM ds_v;
SET DateStyle TO 'SQL, DMY';
SELECT * FROM ds_v;
INSERT INTO ds_default VALUES (1);
SELECT * FROM ds_default;
-- refused 0A000: definitions are text, which is read in the default style
CREATE VIEW ds_x AS SELECT date '05/06/2007' AS d;
-- refused 0A000: as above
CREATE TABLE ds_z (a integer, d date DEFAULT '03/04/2005');
CREATE TABLE ds_y AS SELECT date '05/06/2007' AS d;
SELECT d FROM ds_y;
RESET DateStyle;
CREATE VIEW ds_w AS SELECT date '05/06/2007' AS d, '1' AS one, id FROM ds_t WHERE d > '03/04/1999';
CREATE TABLE ds_default2 (a integer, d date DEFAULT '03/04/2005', e date GENERATED ALWAYS AS (coalesce(d, '03/05/2005')) STORED, CHECK (d > '05/06/2003'));
CREATE DOMAIN ds_d AS date DEFAULT '03/04/2005' CHECK (VALUE > '05/06/2003');
CREATE TABLE ds_default3 (a integer, d ds_d);
SET DateStyle TO 'SQL, DMY';
SELECT * FROM ds_w WHERE id < 4;
INSERT INTO ds_default2 (a) VALUES (1);
INSERT INTO ds_default2 VALUES (2, NULL);
SELECT * FROM ds_default2;
-- error 23514
INSERT INTO ds_default2 VALUES (1, '02/05/2003');
INSERT INTO ds_default2 VALUES (1, '07/06/2003');
INSERT INTO ds_default3 (a) VALUES (1);
INSERT INTO ds_default3 VALUES (2, '07/06/2003');
-- error 23514
INSERT INTO ds_default3 VALUES (3, '02/05/2003');
SELECT * FROM ds_default3;

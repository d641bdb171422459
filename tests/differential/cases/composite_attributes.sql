-- ALTER TYPE … ATTRIBUTE: the fields of a composite type are added, dropped, changed and renamed.
-- cases
CREATE TYPE ca_job AS (id int, name text, priority int);
CREATE FUNCTION ca_first(jobs ca_job[]) RETURNS text LANGUAGE sql AS 'SELECT (jobs[1]).name';
CREATE FUNCTION ca_make(n int) RETURNS ca_job LANGUAGE plpgsql AS $$ DECLARE made ca_job; BEGIN made.id := n; made.name := 'j' || n; RETURN made; END $$;
SELECT ca_first(ARRAY[ROW(1, 'a', 2)::ca_job]), ca_make(3);
ALTER TYPE ca_job ALTER ATTRIBUTE priority TYPE smallint;
SELECT (ROW(1, 'a', 2)::ca_job).priority, pg_typeof((ROW(1, 'a', 2)::ca_job).priority);
ALTER TYPE ca_job ADD ATTRIBUTE flags text[], ADD ATTRIBUTE at date;
SELECT ROW(1, 'a', 2, '{x}', '2024-01-02')::ca_job, ca_make(4);
SELECT ca_first(ARRAY[ROW(1, 'b', 2, NULL, NULL)::ca_job]);
ALTER TYPE ca_job DROP ATTRIBUTE at, ALTER ATTRIBUTE id SET DATA TYPE bigint;
ALTER TYPE ca_job RENAME ATTRIBUTE name TO title;
SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute
WHERE attrelid = 'ca_job'::regclass AND NOT attisdropped ORDER BY attnum;
SELECT (ca.j).title, (ca.j).id FROM (SELECT ROW(1, 'a', 2, NULL)::ca_job AS j) AS ca;
ALTER TYPE ca_job DROP ATTRIBUTE IF EXISTS missing;
-- error 42703
ALTER TYPE ca_job DROP ATTRIBUTE missing;
-- error 42703
ALTER TYPE ca_job ALTER ATTRIBUTE missing TYPE int;
-- error 42703
ALTER TYPE ca_job RENAME ATTRIBUTE missing TO a;
-- error 42701
ALTER TYPE ca_job ADD ATTRIBUTE title int;
-- error 42701
ALTER TYPE ca_job RENAME ATTRIBUTE id TO title;
-- error 42704
ALTER TYPE ca_job ADD ATTRIBUTE a ca_nothing;
-- error 42P01
ALTER TYPE ca_missing ADD ATTRIBUTE a int;
CREATE TABLE ca_jobs (id int, j ca_job);
-- error 0A000
ALTER TYPE ca_job ALTER ATTRIBUTE priority TYPE int;
DROP TABLE ca_jobs;
CREATE VIEW ca_seen AS SELECT 1 AS one;
-- error 42809
ALTER TYPE ca_seen ADD ATTRIBUTE a int;

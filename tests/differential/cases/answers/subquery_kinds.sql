-- Comparisons with a subquery over another kind of time, and DISTINCT ON keys that are repeated.
-- setup
create schema answers_subquery_kinds;
set search_path = answers_subquery_kinds;
create table tt(ts timestamp, tz timestamptz, d date, n name, x text);
insert into tt values ('2020-01-01', '2020-01-01', '2020-01-01', 'a', 'a'), ('2020-01-02', '2020-01-03', '2020-01-02', 'b', 'c'), (null, null, null, null, null), ('infinity', '-infinity', 'infinity', 'd', 'b');
create table t(a int, b text);
insert into t values (1, 'x'), (2, 'y'), (2, 'z');
-- cases
set timezone = 'America/New_York';
select count(*) from tt where ts in (select tz from tt);
select count(*) from tt where ts = any (select tz from tt);
select count(*) from tt where ts not in (select tz from tt where tz is not null);
select count(*) from tt where ts not in (select tz from tt);
select count(*) from tt where d in (select tz from tt);
select count(*) from tt where tz in (select d from tt);
select count(*) from tt where d in (select ts from tt);
select count(*) from tt where ts > all (select tz from tt where tz < '2020-01-02');
select ts, ts in (select tz from tt), d <> all (select ts from tt where ts is not null) from tt;
select count(*) from tt where (ts, d) in (select tz, ts from tt);
select count(*) from tt a where ts in (select tz from tt b where b.d = a.d);
set timezone = 'UTC';
select count(*) from tt where ts in (select tz from tt);
select count(*) from tt where ts = all (select d from tt where d = '2020-01-01');
select relname from pg_class where relname in (select 'pg_class'::text union select 'pg_proc');
select 'pg_class'::text in (select relname from pg_class);
select distinct on (a, a) a, b from t order by a, b;
select distinct on (a, 2) b, a from t order by 2, 1;
select distinct on (b, 1) b, a from t order by 1;
select distinct on (a, b) a, b from t order by a, a, b;
select distinct on (b, a) a, b from t order by a, a, b, b;
-- error 42P10
select distinct on (a, a) a, b from t order by b, a;
select distinct on (a, b) a, b from t order by a;

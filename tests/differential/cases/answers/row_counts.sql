-- LIMIT and OFFSET that are read from rows: NULL is none, a negative one is an error.
-- setup
create schema answers_row_counts;
set search_path = answers_row_counts;
-- setup
create table k(k int, n int);
insert into k values (-1, null);
create table t(a int);
insert into t values (1), (2), (3);
-- cases
-- error 2201W
select * from t limit (select k from k);
-- error 2201X
select * from t offset (select k from k);
-- error 2201W
select * from t order by a limit (select min(k) from k) offset 1;
select * from t order by a limit (select -k from k);
select * from t order by a offset (select -k from k);
select * from t order by a limit (select n from k) offset (select n from k);
select * from t order by a limit (select k from k where false);
-- error 2201W
select * from t order by a fetch first (select k from k) rows with ties;
-- error 2201W
select a, (select array_agg(x) from (select b.a from t b limit t.a - 2) s(x)) from t;
-- error 2201X
select a, (select array_agg(x) from (select b.a from t b offset t.a - 2) s(x)) from t;
select a, (select array_agg(x) from (select b.a from t b order by 1 limit t.a - 1) s(x)) from t;
select a, (select array_agg(x) from (select b.a from t b order by 1 offset t.a - 1 limit nullif(t.a, 2)) s(x)) from t;
select a, x from t, lateral (select b.a from t b order by 1 limit (select count(*) from t c where c.a < t.a)) s(x);
-- error 2201W
select * from (select * from t limit (select k from k)) s;
select count(*) from t where a in (select a from t order by a limit (select 1 + count(*) from k));

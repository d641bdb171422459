-- SQL functions whose bodies are queries, over aggregates.
-- setup
create schema answers_functions_of_aggregates;
set search_path = answers_functions_of_aggregates;
create table t(a int, b text);
insert into t values (1, 'x'), (2, 'y'), (2, 'z'), (4, null);
create function cnt(int[]) returns bigint language sql as 'select count(*) from unnest($1)';
create function med(int[]) returns int language sql as 'select x from unnest($1) x order by x offset cardinality($1) / 2 limit 1';
create function above(int, int) returns bigint language sql as 'select count(*) from answers_functions_of_aggregates.t where a > $1 and a < $2 + 100';
create function summed(int) returns bigint language sql as 'select sum($1) from generate_series(1, 3)';
create function strict_cnt(int[]) returns bigint language sql strict as 'select count(*) from unnest($1)';
-- cases
select cnt(array_agg(a)) from t;
select b, cnt(array_agg(a)) from t group by b;
select a, cnt(array_agg(a)), sum(a), cnt(array_agg(a + 1)) + 1 from t group by a having cnt(array_agg(a)) > 1;
select med(array_agg(a)), strict_cnt(array_agg(a)), cnt(null) from t;
select above(min(a), max(a)), above(1, count(*)::int) from t;
select summed(a) from t order by 1;
select a, summed(a) from t group by a order by a;
select summed(max(a)) from t;
select cnt(array_agg(a) filter (where b is not null)) from t where false;
select (select cnt(array_agg(t.a)) from t x where x.a = 1) from t;
select x.a, (select cnt(array_agg(y.a)) from t y where y.a >= x.a) from t x order by 1, 2;
-- error 42803
select cnt(array[a]), count(*) from t;
create function mixed(int, bigint) returns bigint language sql as 'select sum($1) + $2 + count(*) from generate_series(1, 2)';
select mixed(a, sum(a)) from t group by a order by 1;
select mixed(max(a), count(*)), count(*), sum(a) from t;
select count(*), (select count(*) + max(t.a) from t x where x.a > 1) from t;

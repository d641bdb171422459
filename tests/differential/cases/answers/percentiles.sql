-- Fractions of percentiles that are computed: of constants, parameters, grouped columns and subqueries.
-- setup
create schema answers_percentiles;
set search_path = answers_percentiles;
create table t(a int, b text, n numeric, i interval);
insert into t values (1, 'x', 1.5, '1 day'), (2, 'yy', 2.50, '2 days'), (2, 'z', 4, '5 hours'), (3, 'a', null, null), (3, 'bb', 7, '1 mon');
-- cases
select percentile_cont(0.2 + 0.3) within group (order by a) from t;
select a, percentile_cont(a / 4.0) within group (order by length(b)) from t group by a;
select a, percentile_disc(a / 4.0) within group (order by n desc), percentile_cont(a / 4.0) within group (order by i) from t group by a;
prepare pp(float8) as select percentile_cont($1) within group (order by a), percentile_disc($1) within group (order by b) from t;
execute pp(0.5);
execute pp(0);
execute pp(null);
-- error 22003
execute pp(1.5);
prepare pp2(float8[]) as select percentile_cont($1) within group (order by a), percentile_disc($1) within group (order by n) from t;
execute pp2('{0,0.25,1,NULL}');
execute pp2(null);
-- error 22003
execute pp2('{0,-0.25}');
select percentile_disc(array[0.2 + 0.3, 1]) within group (order by b) from t;
select percentile_cont((select 0.5)) within group (order by a) from t;
select percentile_cont((select max(x.a) / 4.0 from t x)) within group (order by a) from t;
-- error 22003
select percentile_cont(2 * 1.5) within group (order by a) from t;
-- error 22003
select a, percentile_cont(a - 1.5) within group (order by n) from t group by a;
-- error 42803
select percentile_cont(a) within group (order by a) from t;
select percentile_cont(0.5 * 1) within group (order by a) filter (where a > 1) from t;
select percentile_cont(0.5 * 1) within group (order by a) from t where false;

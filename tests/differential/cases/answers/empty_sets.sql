-- Several empty grouping sets give a row each, also where nothing is aggregated.
-- setup
create schema answers_empty_sets;
set search_path = answers_empty_sets;
-- setup
create table t(a int);
insert into t values (1), (2);
create table none(a int);
-- cases
select 1 from t group by grouping sets ((), ());
select row_number() over () from t group by grouping sets ((), ());
select 1 from t group by grouping sets ((), ()) having true;
select 1 from t group by grouping sets ((), ()) having false;
select 1 from t group by grouping sets ((), ()) having 1 = 1 or 2 = 3;
select * from (select 2 from t group by grouping sets ((), (), ())) x;
select 1 from t where a > 5 group by grouping sets ((), ());
select 1 from none group by grouping sets ((), ());
select count(*) from t group by grouping sets ((), ());
select 1 from t group by ();
select 1 from none group by ();
select 1 from t group by (), ();
select 1 having true;
select 1 from t having true;
select (select count(*) from (select 1 from t b where b.a = t.a group by grouping sets ((), ())) x) from t;
select distinct 1 from t group by grouping sets ((), ());
select 1 from t group by grouping sets ((), ()) order by 1 limit 1;
select exists (select from none group by grouping sets ((), ()));
select 1 union all select 2 from t group by grouping sets ((), ());

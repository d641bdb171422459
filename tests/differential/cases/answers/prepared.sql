-- EXECUTE: its values may call functions, and are ignored without parameters; tables of prepared queries.
-- setup
create schema answers_prepared;
set search_path = answers_prepared;
create table t(a int, b text);
insert into t values (1, 'x'), (2, 'y');
create function pl1() returns int language plpgsql as $$ begin return 40; end $$;
create function pl2(i int) returns int language plpgsql as $$ declare n int; begin select count(*) into n from t; return i + n; end $$;
prepare tv(int, int) as select $1 + $2;
prepare tv0 as select 1;
prepare ct as select 1 as a, 'x' as b;
prepare ct2(int) as select $1 as v, b from t where a = $1;
prepare ins as insert into t values (3, 'z');
prepare tx(text) as select $1;
-- cases
execute tv(pl1(), 2);
execute tv(pl1() + 1, pl2(1));
execute tv0(1);
execute tv0(1, nope);
execute tv0;
-- cases
-- error 42601
execute tv(1);
-- error 42601
execute tv(1, 2, 3);
-- error 42601
execute tv;
-- error 0A000
execute tv((select 1), 2);
-- error 0A000
execute tv(1, 2 + (select 1));
-- error 42803
execute tv(sum(1), 2);
-- error 42P20
execute tv(row_number() over (), 2);
-- error 0A000
execute tv(generate_series(1, 2), 2);
-- error 42804
execute tv(1, '2020-01-01'::date);
-- error 42703
execute tv(a, 2);
execute tv('1', 2.6);
execute tx(5);
-- error 26000
execute nope(1);
-- cases
create table cte1 as execute ct;
select * from cte1;
create table cte2 as execute ct2(2);
select * from cte2;
create temp table cte3(z, y) as execute ct2(pl1() - 39) with no data;
select * from cte3;
create table if not exists cte2 as execute ct2(1);
-- error 42P07
create table cte2 as execute ct2(1);
-- error 42809
create table cte4 as execute ins;
-- error 26000
create table cte4 as execute nope;
create table uh(a int) using heap;
create table uh3 using heap as select 1 as a;
create materialized view uhm using heap as select 1 as a;
-- error 42704
create table uh2(a int) using nope;
-- error 55000
create table uh2(a int) using btree;
set default_with_oids = false;
show default_with_oids;
-- error 0A000
set default_with_oids = true;
select name, statement, parameter_types, result_types from pg_prepared_statements order by 1;
select '{}'::regtype[], array[]::regtype[], '{}'::regclass[], null::regtype[], (select array_agg(oid::regtype) from pg_type where false), '{}'::oid[];

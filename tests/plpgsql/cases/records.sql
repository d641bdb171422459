create table t (a int, b text)
---
insert into t values (1,'x'),(2,'y')
---
create function rs(n int) returns setof record language plpgsql as $$ begin return query select a, b from t where a <= n order by a; end $$
---
select * from rs(2) as (p int, q text)
---
select q from rs(1) as f(p int, q text)
---
select * from rs(2)
---
select * from rs(2) as (p int)
---
select * from rs(2) as (p int, q int)
---
create function r1() returns record language plpgsql as $$ declare r record; begin select 1 as x, 'z'::text as y into r; return r; end $$
---
select * from r1() as (u int, v text)
---
create function dyn(q text) returns setof record language plpgsql as $$ begin return query execute q; end $$
---
select * from dyn('select a, b from t order by a') as (i int, s text)
---
select t.a, d.* from t, lateral dyn(format('select %s::int', a)) as d(i int) order by 1
---
select * from rs(1) as (p int, q text) where q = 'x'
---
create or replace function stricttest() returns void as $$
#print_strict_params on
declare x record; p1 int := 2; p3 text := 'f''oo'; begin select * from (values (1)) foo(f1) where f1 = p1 and f1::text = p3 into strict x; end$$ language plpgsql
---
select stricttest()
---
do $$
#print_strict_params on
declare x int; begin execute 'select 1 from t where a > $1' into strict x using 0; end $$
---
create function v() returns void language plpgsql as $$ begin perform 1; end $$
---
select v(), v() is null
---
select a, v() from t order by a
---
select * from v()
---
do $$ declare x text; begin x := v(); raise notice '[%]', x; end $$
---
do $$ declare r record; begin for r in select 1 as kind union all select 2 loop case r.kind when 1 then raise notice 'one'; when 2, 3 then raise notice 'two'; end case; end loop; end $$
---
do $$ declare r record; begin for r in select null::int as kind loop case r.kind when 1 then raise notice 'one'; else raise notice 'else'; end case; end loop; end $$
---
do $$ declare r record; begin select 3 as kind into r; case r.kind + 1 when 1 then raise notice 'one'; end case; end $$
---
do $$ declare r record; begin select 3 as kind into r; case r.kind when 'x' then raise notice 'x'; end case; end $$
---
do $$ declare a record; b record; begin for i in 1..2 loop if i = 1 then a := row(1, 2); else b := a; a := null; end if; raise notice '%', a is null and b is not null; end loop; end $$

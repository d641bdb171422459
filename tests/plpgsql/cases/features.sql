create table t (a int, b text, n numeric(10,2))
---
insert into t values (1,'one',1.5),(2,'two',2.25),(3,null,null)
---
create function twice(x int) returns int language plpgsql as $$ begin return x * 2; end $$
---
select a, twice(a) from t where twice(a) > 2 order by twice(a) desc
---
select sum(twice(a)), max(twice(a)) from t
---
select case when a > 1 then twice(a) end from t order by a
---
create function cut(x text) returns varchar(2) language plpgsql immutable as 'begin return left(x, 2); end'
---
select cut(b) from t order by a
---
create function mixed(x int) returns text language plpgsql as $$ begin if x > 1 then return 'big'; end if; return 'small'; end $$
---
select a, mixed(a) from t order by a
---
select lanname, prosrc, provolatile, prokind from pg_proc p join pg_language l on l.oid = prolang where proname in ('twice','mixed') order by 2
---
select lanname, lanispl, lanpltrusted from pg_language order by 1
---
select pg_get_functiondef('twice(int)'::regprocedure)
---
create or replace function twice(x int) returns int language plpgsql as $$ begin return x * 20; end $$
---
select twice(4)
---
drop function twice(int)
---
select twice(4)
---
create function rt() returns refcursor language plpgsql as $$ declare c refcursor := 'mycur'; begin open c for select a from t order by a; return c; end $$
---
begin
---
select rt()
---
fetch all from mycur
---
commit
---
create function secd() returns text language plpgsql security definer as $$ begin return current_user; end $$
---
create function d2(out a int, out b int) language plpgsql as $$ begin a := 1; b := 2; end $$
---
select * from d2(), t where t.a = d2.a
---
select (d2()).*
---
do language plpgsql $$ begin raise info 'i'; raise log 'l'; raise debug 'd'; raise warning 'w'; end $$
---
create function dyn(tab text) returns bigint language plpgsql as $$ declare n bigint; begin execute format('select count(*) from %I', tab) into n; return n; end $$
---
select dyn('t')
---
select dyn('nope')
---
create function ctas() returns int language plpgsql as $$ declare n int; begin create temp table tmp1 as select g from generate_series(1,5) g; select count(*) into n from tmp1; drop table tmp1; return n; end $$
---
select ctas()
---
select ctas()
---
do $$ declare x int; begin insert into t values (50,'r',1) returning a into x; raise notice '%', x; update t set b = b || '!' where a = x returning b into strict x; end $$
---
do $$ declare r record; n int := 0; begin for r in update t set n = 5 where a < 3 returning a, n loop n := n + r.a; end loop; raise notice '%', n; end $$
---
do $$ declare n int; begin n := 5; perform * from t where n = 5; end $$
---
do $$ #variable_conflict use_column
declare n int; c int; begin n := 5; select count(*) into c from t where n = 5; raise notice '%', c; end $$
---
do $$ #variable_conflict use_variable
declare n int; c int; begin n := 5; select count(*) into c from t where n = 5; raise notice '%', c; end $$
---
do $$ declare a int[] := array[[1,2],[3,4]]; x int; y int[]; begin foreach x in array a loop raise notice '%', x; end loop; foreach y slice 1 in array a loop raise notice '%', y; end loop; end $$
---
create type comp as (p int, q text)
---
create function mk(a int) returns comp language plpgsql as $$ declare r comp; begin r.p := a; r.q := 'q' || a; return r; end $$
---
select mk(3), (mk(4)).q
---
select * from mk(5)
---
create function takes(c comp) returns text language plpgsql as $$ begin return c.q || '/' || c.p; end $$
---
select takes(row(7,'x')), takes(mk(9))
---
create function trow(r t) returns text language plpgsql as $$ begin return coalesce(r.b, '?') || r.a; end $$
---
select trow(t) from t order by a
---
create function nulls(x int) returns int strict language plpgsql as $$ begin raise notice 'called'; return x; end $$
---
select nulls(null), nulls(1)
---
create domain posint as int check (value > 0)
---
do $$ declare p posint := 1; begin p := 5; raise notice '%', p; p := -1; end $$
---
do $$ declare x int; begin x = 5; raise notice '%', x; x := x + null; raise notice '%', x; if x is null then raise notice 'null'; elsif x > 1 then raise notice 'no'; end if; end $$
---
do $$ declare s text := ''; begin for i in 1..3 loop for j in 1..3 loop continue when j = 2; s := s || i || j || ' '; end loop; end loop; raise notice '%', s; end $$
---
do $$ begin begin raise exception 'one'; exception when others then begin raise exception 'two'; exception when others then raise notice '%', sqlerrm; end; raise notice '%', sqlerrm; end; end $$
---
do $$ begin raise 'plain %', 1; end $$
---
do $$ declare c text; begin get diagnostics c = pg_context; raise notice '%', c; end $$
---
do $$ begin call nosuchproc(); end $$
---
do $$ declare x t.a%type := 5; y t%rowtype; begin y.a := x; raise notice '% %', x, y; end $$
---
do $$ declare x nosuch.a%type; begin null; end $$
---
do $$ declare x t.nocol%type; begin null; end $$
---
do $$ begin savepoint x; end $$
---
do $$ begin execute 'commit'; end $$
---
do $$ begin begin commit; exception when others then raise notice '% %', sqlstate, sqlerrm; end; end $$
---
do $$ declare r record; begin for r in select * from generate_series(1,3) g(i) loop raise notice '%', r; exit when r.i = 2; end loop; raise notice '% %', found, r; end $$
---
do $$ declare a int; b text; begin for a, b in select t.a, t.b from t order by 1 loop raise notice '% %', a, b; end loop; end $$
---
do $$ declare ts timestamptz := '2024-01-01 00:00:00+00'; d date; begin d := ts::date; raise notice '%', extract(year from ts); raise notice '%', d - date '2023-12-25'; end $$
---
drop function takes(comp), mk(int)
---
drop type comp
---
drop function rt(), trow(t)

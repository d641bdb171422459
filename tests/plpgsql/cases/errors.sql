do $$ begin call nosuchproc(); end $$
---
do $$ declare r record; begin r := row(1,2); raise notice '%', r; r := null; raise notice '%', r; end $$
---
do $$ declare r record; begin for r in select 1 as a, 2 as b union all select 3, 4 loop r.a := r.a + 10; raise notice '% %', r.a, r; end loop; end $$
---
do $$ declare x int; begin x := (select max(i) from generate_series(1,5) i); raise notice '%', x; if exists (select 1) then raise notice 'e'; end if; if not exists (select 1 where false) then raise notice 'ne'; end if; end $$
---
do $$ declare x int[]; begin x := array(select i from generate_series(1,3) i); raise notice '% %', x, x[2]; x[2] := x[2] + 5; raise notice '%', x; select array_agg(i) into x from generate_series(4,6) i; raise notice '%', x; end $$
---
do $$ declare a int[] := '{1,2}'; b int[]; begin a[1] := 9; b := a; a[2] := 8; raise notice '% %', a, b; end $$
---
create function fr(n int) returns table(a int, b int) language plpgsql as $$ begin for i in 1..n loop a := i; b := i * i; return next; end loop; end $$
---
select sum(b) from fr(4)
---
create view vf as select * from fr(2)
---
select * from vf
---
insert into vt select 1
---
create table vt as select * from fr(3)
---
update vt set b = (select max(b) from fr(2))
---
select * from vt order by a
---
create function raises() returns void language plpgsql as $$ begin raise exception 'x' using column = 'c', constraint = 'k', datatype = 'd', table = 't', schema = 's'; end $$
---
do $$ declare a text; b text; c text; begin perform raises(); exception when others then get stacked diagnostics a = column_name, b = constraint_name, c = schema_name; raise notice '% % %', a, b, c; end $$
---
select raises()
---
do $$ begin raise exception 'a' using message = 'b'; end $$
---
do $$ begin raise notice '%', null; raise notice '%', array[1,2]; raise notice '% %', 1.50, 'x'::text; raise notice '%', true; raise notice '%', row(1,'b'); end $$
---
do $$ begin raise exception using message = 'm', errcode = 'foo'; end $$
---
do $$ begin raise nosuchcondition; end $$
---
do $$ begin begin null; exception when nosuchcondition then null; end; end $$
---
do $$ begin exit; end $$
---
do $$ begin continue; end $$
---
do $$ begin loop exit nolabel; end loop; end $$
---
do $$ declare x int; x int; begin null; end $$
---
do $$ begin return 1; end $$
---
do $$ begin return; end $$
---
create function novalue() returns int language plpgsql as $$ begin return; end $$
---
create function voidval() returns void language plpgsql as $$ begin return 1; end $$
---
create function setval2() returns setof int language plpgsql as $$ begin return 1; end $$
---
create function nonset() returns int language plpgsql as $$ begin return next 1; end $$
---
create function nonset() returns int language plpgsql as $$ begin return query select 1; end $$
---
create function outval(out a int) language plpgsql as $$ begin return 1; end $$
---
create procedure pval() language plpgsql as $$ begin return 1; end $$
---
create function misq() returns setof int language plpgsql as $$ begin return query select 'a'::text; end $$
---
select * from misq()
---
create function misc() returns table (a int, b int) language plpgsql as $$ begin return query select 1; end $$
---
select * from misc()
---
do $$ declare c refcursor; begin fetch c into c; end $$
---
do $$ declare c cursor (a int) for select a; begin open c; end $$
---
do $$ declare c cursor (a int) for select a; begin open c(1, 2); end $$
---
do $$ declare c cursor (a int) for select a; x int; begin open c(b := 1); end $$
---
do $$ declare c cursor (a int) for select a; x int; begin open c(a := 1 + 1); fetch c into x; raise notice '%', x; end $$
---
do $$ declare x int; begin select 1, 2 into x; raise notice '%', x; end $$
---
do $$ declare x int; y int; begin select 1 into x, y; raise notice '% %', x, y; end $$
---
do $$ declare x int; begin execute 'select 1 where false' into strict x; end $$
---
do $$ declare x int; begin execute 'select generate_series(1,2)' into strict x; end $$
---
do $$ declare x text; begin execute 'select $1::text || $2' into x using 'a', 'b'; raise notice '%', x; execute 'create temp table dd (a int)'; execute 'insert into dd values ($1), ($2)' using 1, 2; get diagnostics x = row_count; raise notice '%', x; execute 'drop table dd'; end $$
---
do $$ begin execute 'selec'; end $$
---
do $$ declare x int := 5; begin for i in 1..x loop x := x - 1; end loop; raise notice '%', x; end $$
---
do $$ begin for i in 5..1 loop raise notice 'never'; end loop; raise notice '%', found; for i in 1..1 loop null; end loop; raise notice '%', found; end $$
---
do $$ begin for i in 1..2147483647 by 2000000000 loop raise notice '%', i; end loop; end $$
---
do $$ declare x int; begin case x when 1 then null; else raise notice 'else'; end case; end $$
---
do $$ declare x text := 'b'; begin case when x = 'a' then raise notice 'A'; when x = 'b' then raise notice 'B'; end case; case x when 'a', 'b' then raise notice 'ab'; end case; case x when 'z' then null; end case; end $$
---
do $$ declare i2 smallint := 32767; i8 bigint := 9223372036854775807; begin begin i2 := i2 + 1; exception when numeric_value_out_of_range then raise notice '%', sqlerrm; end; begin i8 := i8 + 1; exception when others then raise notice '%', sqlerrm; end; raise notice '%', -7 / 2; raise notice '%', -7 % 3; end $$
---
do $$ declare a text; begin a := 5; raise notice '%', a; a := true; raise notice '%', a; a := 1.5; raise notice '%', a; a := null; raise notice '%', a || 'x'; raise notice '%', coalesce(a, 'none'); end $$
---
do $$ declare b bool; begin b := 1 < 2 and null; raise notice '%', b; b := not b; raise notice '%', b; b := 't'; raise notice '%', b; if null then raise notice 'no'; else raise notice 'else'; end if; end $$
---
do $$ declare a int := 5; begin a := a::text || '1'; raise notice '%', a; a := 3.7; raise notice '%', a; a := '12' ; raise notice '%', a; end $$
---
create function mutual_b(n int) returns bool language plpgsql as $$ begin return true; end $$
---
create function mutual_a(n int) returns bool language plpgsql as $$ begin if n = 0 then return true; end if; return mutual_b(n - 1); end $$
---
create or replace function mutual_b(n int) returns bool language plpgsql as $$ begin if n = 0 then return false; end if; return mutual_a(n - 1); end $$
---
select mutual_a(10), mutual_a(11)
---
create function endless(n int) returns int language plpgsql as $$ begin return endless(n + 1) + 0; end $$
---
comment on function endless(int) is 'never ends'
---
alter function endless(int) rename to endless2
---
drop function endless2
---
do $$ declare x; begin null; end $$
---
do $$ begin if then null; end if; end $$
---
do $$ begin x := (1; end $$
---
do $$ begin while true null; end loop; end $$
---
do $$ begin perform; end $$
---
do $$ begin for i in 1.. loop null; end loop; end $$
---
do $$ declare r record; begin raise notice '%', r; end $$
---
create function ctx() returns setof int language plpgsql as $$ begin return query select 10 / x from (values (1),(0)) v(x); end $$
---
select * from ctx()
---
create function ctx2(x int) returns int language plpgsql as $$ declare y int; begin y := 1; return 10 / x; end $$
---
create function sqlf(x int) returns int language sql as 'select ctx2(x)'
---
select sqlf(0)
---
create function sqlv(x int) returns int language sql as 'select 1; select ctx2(x)'
---
select sqlv(0)
---
drop function sqlf, sqlv, ctx2, ctx

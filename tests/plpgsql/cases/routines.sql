create table t (a int, b text, n numeric(10,2))
---
insert into t values (1,'one',1.5),(2,'two',2.25),(3,null,null)
---
do $$ begin raise division_by_zero; end $$
---
do $$ declare x int; begin x  :=  1/0; end $$
---
do $$ declare x int; begin if 1/0 = 1 then null; end if; end $$
---
create function s1(n int) returns setof int language plpgsql as $$ begin for i in 1..n loop return next i * 10; end loop; return query select a from t order by a; return; end $$
---
select * from s1(3)
---
select s1(2)
---
create function s2() returns table (x int, y text) language plpgsql as $$ begin return query select a, b from t order by a; x := 77; y := 'last'; return next; end $$
---
select * from s2()
---
select s2()
---
create function s3() returns setof t language plpgsql as $$ declare r t%rowtype; begin for r in select * from t order by a loop r.b := coalesce(r.b,'none'); return next r; end loop; end $$
---
select * from s3()
---
create function o1(a int, out b int, out c text) language plpgsql as $$ begin b := a + 1; c := 'v' || a; end $$
---
select * from o1(4)
---
select o1(4), (o1(5)).c
---
create function o2(inout a int) language plpgsql as $$ begin a := a * 2; end $$
---
select o2(21)
---
create procedure p1(a int, inout b int, out c text) language plpgsql as $$ begin b := b + a; c := 'x' || b; end $$
---
call p1(1, 2, null)
---
do $$ declare v int := 5; w text; begin call p1(1, v, w); raise notice '% %', v, w; end $$
---
create function v1(variadic a int[]) returns int language plpgsql as $$ declare s int := 0; x int; begin foreach x in array a loop s := s + x; end loop; return s; end $$
---
select v1(1,2,3), v1(variadic array[4,5])
---
create function d1(a int default 5, b text default 'q') returns text language plpgsql as $$ begin return b || a; end $$
---
select d1(), d1(3), d1(b => 'z')
---
create function poly(a anyelement, b anyelement) returns anyelement language plpgsql as $$ begin if a > b then return a; end if; return b; end $$
---
select poly(1,2), poly('a'::text,'b'), poly(1.5,0.5)
---
do $$ declare arr int[] := '{1,2,3}'; begin arr[2] := 20; arr[5] := 50; raise notice '% % %', arr, arr[2], array_length(arr,1); arr := arr || 7; raise notice '%', arr; end $$
---
do $$ declare c cursor for select a from t order by a; x int; begin open c; fetch c into x; raise notice '%', x; fetch next from c into x; raise notice '%', x; move c; fetch c into x; raise notice '% %', x, found; close c; end $$
---
do $$ declare c cursor (k int) for select a, b from t where a >= k order by a; r record; begin for r in c(2) loop raise notice '% %', r.a, r.b; end loop; open c(3); fetch c into r; raise notice '%', r; close c; end $$
---
do $$ declare c refcursor; r record; begin open c for execute 'select a from t where a > $1 order by 1' using 1; loop fetch c into r; exit when not found; raise notice '%', r.a; end loop; close c; end $$
---
do $$ declare c refcursor; r record; begin open c scroll for select a from t order by 1; fetch last from c into r; raise notice '%', r.a; fetch prior from c into r; raise notice '%', r.a; fetch absolute 1 from c into r; raise notice '%', r; fetch relative 1 from c into r; raise notice '%', r; close c; end $$
---
do $$ declare s text; m text; d text; h text; c text; begin raise exception 'boo' using detail='dd', hint='hh', errcode='P1234'; exception when others then get stacked diagnostics s = returned_sqlstate, m = message_text, d = pg_exception_detail, h = pg_exception_hint, c = pg_exception_context; raise notice '% % % % %', s, m, d, h, c; end $$
---
create function inner_f(x int) returns int language plpgsql as $$
declare y int := 10;
begin
  return y / x;
end $$
---
create function outer_f(x int) returns int language plpgsql as $$ 
declare r int;
begin
  r := inner_f(x) + 1;
  return r;
end $$
---
select outer_f(0)
---
select outer_f(2)
---
create function outer_g(x int) returns int language plpgsql as $$ 
declare r int;
begin
  select inner_f(x) into r from t limit 1;
  return r;
end $$
---
select outer_g(0)
---
create function handler(x int) returns text language plpgsql as $$ 
declare c text;
begin
  perform outer_f(x);
  return 'ok';
exception when division_by_zero then
  get stacked diagnostics c = pg_exception_context;
  return c;
end $$
---
select handler(0)
---
do $$ begin assert 1 = 2, 'not equal'; end $$
---
do $$ begin assert 1 = 2; end $$
---
do $$ declare x int not null := 1; begin x := null; end $$
---
do $$ declare x constant int := 1; begin x := 2; end $$
---
do $$ declare x int := 3; begin case x when 1, 2 then raise notice 'a'; when 3 then raise notice 'b'; else raise notice 'c'; end case; case when x > 5 then raise notice 'd'; end case; end $$
---
create procedure tx() language plpgsql as $$ begin insert into t(a) values (100); commit; insert into t(a) values (101); rollback; insert into t(a) values (102); end $$
---
call tx()
---
select a from t order by a
---
begin
---
call tx()
---
rollback
---
do $$ begin for i in 200..203 loop insert into t(a) values (i); if i % 2 = 0 then commit; else rollback; end if; end loop; end $$
---
select a from t order by a
---
create function rec(x int) returns int language plpgsql as $$ begin return rec(x + 1); end $$
---
do $$ declare a int := 1; begin declare a int := 2; begin raise notice '%', a; end; raise notice '%', a; end $$
---
do $$ <<b>> declare a int := 1; begin declare a int := 2; begin raise notice '% %', a, b.a; end; end $$
---
do $$ declare a int; begin select a into a from t; end $$
---
do $$ declare r record; begin raise notice '%', r.x; end $$
---
do $$ declare r record; begin select 1 as x, 'a' as y into r; raise notice '% %', r.x, r; raise notice '%', r.z; end $$
---
do $$ declare x int; begin begin x := 1; raise exception using errcode = 'unique_violation'; exception when unique_violation then raise; end; end $$
---
do $$ begin raise; end $$
---
do $$ begin execute null; end $$
---
do $$ begin for i in 1..null loop null; end loop; end $$
---
do $$ begin for i in 1..5 by 0 loop null; end loop; end $$
---
do $$ begin <<x>> begin raise notice 'one'; exit x; raise notice 'two'; end; raise notice 'three'; end $$
---
do $$ declare x text; begin x := (select b from t where a = 1); raise notice '%', x; x := b from t where a = 2; raise notice '%', x; end $$
---
do $$ declare x date := '2024-02-28'; y timestamp; z interval; begin x := x + 2; y := x; z := '1 day 2 hours'; raise notice '% % % %', x, y, z, y + z; end $$
---
do $$ declare j jsonb := '{"a": 1}'; u uuid := 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'; begin raise notice '% % %', j->'a', u, j || '{"b":2}'; end $$
---
do $$ declare r t; begin r.a := 5; r.b := 'x'; raise notice '%', r; r := row(7,'seven',7.5); raise notice '% %', r, r.n; select * into r from t where a = 2; raise notice '%', r.b; insert into t values (r.*); insert into t select r.a + 1000, r.b; end $$
---
select * from t order by a
---
do $$ declare v varchar(3); begin v := 'abcdef'; end $$
---
do $$ declare n numeric(4,1); begin n := 123.456; raise notice '%', n; n := 12345; end $$
---
create function over_zero(val int) returns boolean language plpgsql immutable as $$ begin return val > 0; end $$
---
create domain above as int check (over_zero(value))
---
select 1::above, (-1)::above
---
select 1::above
---
do $$ declare v above := 1; begin v := 2; raise notice '%', v; v := 0; end $$
---
create table checked (a above, b above default 7)
---
insert into checked values (1), (2)
---
insert into checked select g from generate_series(3, 5) g
---
insert into checked select g from generate_series(-1, 1) g
---
update checked set a = a + 1 where a > 3
---
update checked set a = a - 2
---
select * from checked order by a
---
create unique index checked_a on checked using btree (a int4_ops)
---
create table named (t text, v varchar(9), c char(4))
---
create unique index named_all on named (t text_ops, v, c bpchar_ops)
---
insert into named values ('a', 'b', 'c'), ('a', 'b', 'c')
---
create function absent(out a int, out b text) language plpgsql as $$ declare r record; begin
  select 5 as a, 'x'::text as b into r; select 1, 'y' into a, r.b where false; b := r.b; perform from (select 1) x where false; perform from named;
end $$
---
select * from absent()

DO $$ declare x int := 0; begin for i in 1..10 loop x := x + i; end loop; raise notice 'x is % %%', x; end $$
---
create table t (a int, b text, n numeric(10,2))
---
insert into t values (1,'one',1.5),(2,'two',2.25),(3,null,null)
---
create function fac(n int) returns int language plpgsql as $$ begin if n <= 1 then return 1; end if; return n * fac(n-1); end $$
---
select fac(5), fac(12)
---
select fac(13)
---
select a, fac(a) from t order by a
---
create function loops(n int) returns text language plpgsql as $$
declare r text := ''; i int;
begin
  i := 0;
  loop
    i := i + 1;
    exit when i > n;
    continue when i % 2 = 0;
    r := r || i || ',';
  end loop;
  while i > 0 loop
    i := i - 3;
    r := r || 'w' || i;
  end loop;
  for j in reverse 10..1 by 4 loop r := r || 'r' || j; end loop;
  <<outer>>
  for k in 1..3 loop
    for m in 1..3 loop
      continue outer when m = 2;
      exit outer when k = 3;
      r := r || k || m || ';';
    end loop;
  end loop;
  return r;
end $$
---
select loops(5), loops(0)
---
create function q1(x int) returns text language plpgsql as $$
declare r record; s text := ''; c int;
begin
  for r in select a, b from t where a >= x order by a loop
    s := s || r.a || coalesce(r.b, '-') || ' ';
  end loop;
  select count(*) into c from t;
  return s || c || found;
end $$
---
select q1(2)
---
create procedure ins(v int, w text) language plpgsql as $$ begin insert into t values (v, w, v / 2.0); raise notice 'inserted %', v; end $$
---
call ins(10, 'ten')
---
select * from t order by a
---
do $$ declare x int; begin x := 1/0; end $$
---
do $$ declare x int; begin begin x := 1/0; exception when division_by_zero then raise notice 'caught % %', sqlstate, sqlerrm; end; end $$
---
do $$ begin begin insert into t values (99,'x',1); raise exception 'no'; exception when others then raise notice 'rolled back: %', sqlerrm; end; perform 1 from t where a=99; raise notice 'found %', found; end $$
---
do $$ declare v int; begin execute 'select $1 + $2' into v using 3, 4; raise notice '%', v; execute 'insert into t(a) values ($1)' using v; end $$
---
select count(*) from t
---
do $$ begin raise exception 'bad %', 'thing' using errcode = '22012', hint = 'a hint', detail = 'a detail'; end $$
---
do $$ begin raise division_by_zero; end $$
---
do $$ begin raise sqlstate 'ABCDE' using message = 'custom'; end $$
---
create function noret(a int) returns int language plpgsql as $$ begin if a = 1 then return 1; end if; end $$
---
select noret(2)
---
do $$ declare x int; begin select a into strict x from t; end $$
---
do $$ declare x int; begin select a into strict x from t where a = 1000; end $$
---
do $$ declare x int; begin select a into x from t where a = 1000; raise notice '% %', x, found; end $$
---
do $$ declare x numeric := 10; y numeric; begin y := x / 3; raise notice '% % %', y, x * 1.50, round(y, 3); end $$
---
do $$ declare x int := 2147483647; begin x := x + 1; end $$
---
do $$ declare x int := 7; y float8 := 0.1; z text := 'a'; b bool := null; begin raise notice '% % % % %', x / 2, -x / 2, -x % 3, y + 0.2, b and false; raise notice '% %', z || x, b or true; end $$
---
do $$ begin perform nosuch(1); end $$
---
do $$ declare x int := 'abc'; begin null; end $$
---
do $$ declare x int; begin x := 'abc'; end $$
---
do $$ begin foo := 1; end $$
---
do $$ begin selec 1; end $$
---
do $$ begin if 1 then null; end if; end $$
---
do $$ begin raise notice 'a % b', 1, 2; end $$
---
create function bad() returns int language plpgsql as $$
begin
  return 1 +;
end $$
---
create function bad() returns int language plpgsql as $$
declare x nosuchtype;
begin
  return 1;
end $$
---
create function bad() returns int language plpgsql as $$
begin
  return 1;
$$
---
do $$ begin select 1; end $$
---
do $$ declare x int; y text; begin select a, b into x, y from t where a = 2; raise notice '% %', x, y; update t set b = 'zwei' where a = 2; raise notice '%', found; get diagnostics x = row_count; raise notice '%', x; end $$
---
create table several (a int)
---
do $$ declare n int; begin
  execute 'insert into several values ($1); insert into several values ($1 + 1)' using 1;
  get diagnostics n = row_count; raise notice '%', n;
  execute 'select a from several; update several set a = a * 10'; get diagnostics n = row_count; raise notice '%', n;
  execute 'create table more (b int); insert into more values (7); select b from more' into n; raise notice '%', n;
  execute 'select 1; select 2' into n; raise notice '%', n;
  execute ''; execute ' -- nothing'; get diagnostics n = row_count; raise notice '%', n;
end $$
---
select * from several order by a
---
do $$ begin execute 'insert into several values (5); select 1 / 0'; end $$
---
do $$ begin execute 'insert into several values (5); selec 1'; end $$
---
select count(*) from several where a = 5
---
create function who() returns text language plpgsql as $$ declare o oid; begin get diagnostics o = pg_routine_oid; return o::regprocedure::text; end $$
---
select who()
---
do $$ declare o oid; begin get diagnostics o = pg_routine_oid; raise notice '%', o; end $$

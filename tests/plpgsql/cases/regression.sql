create table found_test_tbl (a int)
---
create function test_found() returns boolean as 'declare begin insert into found_test_tbl values (1); if FOUND then insert into found_test_tbl values (2); end if; update found_test_tbl set a = 100 where a = 1; if FOUND then insert into found_test_tbl values (3); end if; delete from found_test_tbl where a = 9999; if not FOUND then insert into found_test_tbl values (4); end if; for i in 1 .. 10 loop end loop; if FOUND then insert into found_test_tbl values (5); end if; for i in 2 .. 1 loop end loop; if not FOUND then insert into found_test_tbl values (6); end if; return true; end;' language plpgsql
---
select test_found()
---
select * from found_test_tbl order by a
---
create table users(login text, id serial)
---
create function sp_add_user(a_login text) returns int as $$
declare my_id_user int;
begin
  if (select count(*) from users where login = a_login) > 0 then return -1; end if;
  INSERT INTO users ( login ) VALUES ( a_login ) returning id into my_id_user;
  RETURN my_id_user;
end$$ language plpgsql
---
select sp_add_user('user1'), sp_add_user('user1'), sp_add_user('user2')
---
create table perform_test ( a INT, b INT )
---
create function perform_simple_func(int) returns boolean as 'BEGIN IF $1 < 20 THEN INSERT INTO perform_test VALUES ($1, $1 + 10); RETURN TRUE; ELSE RETURN FALSE; END IF; END;' language plpgsql
---
create function perform_test_func() returns void as 'BEGIN IF FOUND then INSERT INTO perform_test VALUES (100, 100); END IF; PERFORM perform_simple_func(5); IF FOUND then INSERT INTO perform_test VALUES (100, 100); END IF; PERFORM perform_simple_func(50); IF FOUND then INSERT INTO perform_test VALUES (100, 100); END IF; RETURN; END;' language plpgsql
---
SELECT perform_test_func()
---
SELECT * FROM perform_test
---
create function trap_zero_divide(int) returns int as $$
declare x int; sx smallint;
begin
  begin
    raise notice 'should see this';
    x := 100 / $1;
    raise notice 'should see this only if % <> 0', $1;
    sx := $1;
    raise notice 'should see this only if % fits in smallint', $1;
    if $1 < 0 then raise exception '% is less than zero', $1; end if;
  exception
    when division_by_zero then raise notice 'caught division_by_zero'; x := -1;
    when NUMERIC_VALUE_OUT_OF_RANGE then raise notice 'caught numeric_value_out_of_range'; x := -2;
  end;
  return x;
end$$ language plpgsql
---
select trap_zero_divide(50)
---
select trap_zero_divide(0)
---
select trap_zero_divide(100000)
---
select trap_zero_divide(-100)
---
create function trap_matching_test(int) returns int as $$
declare x int; sx smallint; y int;
begin
  begin
    x := 100 / $1;
    sx := $1;
    select into y unique1 from (values (1,10),(1,11)) tenk1(unique1, unique2) where unique2 = (select unique2 from (values (1,10),(1,11)) b(u1, unique2) where ten(u1) = $1);
  exception
    when data_exception then raise notice 'caught data_exception'; x := -1;
    when NUMERIC_VALUE_OUT_OF_RANGE OR CARDINALITY_VIOLATION then raise notice 'caught numeric_value_out_of_range or cardinality_violation'; x := -2;
  end;
  return x;
end$$ language plpgsql
---
select trap_matching_test(0)
---
select trap_matching_test(100000)
---
create function subxact_rollback_semantics() returns int as $$
declare x int;
begin
  x := 1;
  insert into perform_test values (x, 1);
  begin
    x := x + 1;
    insert into perform_test values (x, 2);
    raise exception 'inner';
  exception when others then x := x * 10;
  end;
  insert into perform_test values (x, 3);
  return x;
end$$ language plpgsql
---
select subxact_rollback_semantics()
---
select * from perform_test order by 1, 2
---
create table master (id int primary key)
---
create table slave (id int references master)
---
create function trap_foreign_key(int) returns int as $$
begin
  begin
    insert into slave values ($1);
  exception when foreign_key_violation then raise notice 'caught foreign_key_violation'; return 0;
  end;
  return 1;
end$$ language plpgsql
---
insert into master values (1)
---
select trap_foreign_key(1), trap_foreign_key(2)
---
create function return_refcursor(rc refcursor) returns refcursor as $$ begin open rc for select a from found_test_tbl order by a; return rc; end $$ language plpgsql
---
create function refcursor_test1(refcursor) returns refcursor as $$ begin perform return_refcursor($1); return $1; end $$ language plpgsql
---
begin
---
select refcursor_test1('test1')
---
fetch next in test1
---
select refcursor_test1('test2')
---
fetch all from test2
---
commit
---
fetch next from test1
---
create function refcursor_test2(int, int) returns boolean as $$
declare c1 cursor (param1 int, param2 int) for select * from found_test_tbl where a > param1 and a > param2; nonsense record;
begin
  open c1($1, $2);
  fetch c1 into nonsense;
  close c1;
  if found then return true; else return false; end if;
end $$ language plpgsql
---
select refcursor_test2(20000, 20000) as "Should be false", refcursor_test2(20, 20) as "Should be true"
---
create function namedparmcursor_test1(int, int) returns boolean as $$
declare c1 cursor (param1 int, param12 int) for select * from found_test_tbl where a > param1 and a > param12; nonsense record;
begin
  open c1(param12 := $2, param1 := $1);
  fetch c1 into nonsense;
  close c1;
  return found;
end $$ language plpgsql
---
select namedparmcursor_test1(20, 20)
---
create function raise_test1(int) returns int as $$ begin raise notice 'This message has too many parameters!', $1; return $1; end; $$ language plpgsql
---
create function raise_test2(int) returns int as $$ begin raise notice 'This message has too few parameters: %, %, %', $1, $1; return $1; end; $$ language plpgsql
---
create function raise_test3(int) returns int as $$ begin raise notice 'This message has no parameters (despite having %% signs in it)!'; return $1; end; $$ language plpgsql
---
select raise_test3(1)
---
CREATE FUNCTION reraise_test() RETURNS void AS $$ BEGIN BEGIN RAISE syntax_error; EXCEPTION WHEN syntax_error THEN BEGIN raise notice 'exception % thrown in inner block, reraising', sqlerrm; RAISE; EXCEPTION WHEN OTHERS THEN raise notice 'RIGHT - exception % caught in inner block', sqlerrm; END; END; EXCEPTION WHEN OTHERS THEN raise notice 'WRONG - exception % caught in outer block', sqlerrm; END; $$ LANGUAGE plpgsql
---
SELECT reraise_test()
---
create function bad_sql_func1() returns int as $$ declare a int; begin a := 5; Johnny Yuma; a := 10; return a; end$$ language plpgsql
---
create function bad_sql_func2() returns int as $$ declare r record; begin for r in select I fought the law, the law won LOOP raise notice 'in loop'; end loop; return 5; end;$$ language plpgsql
---
create function missing_return_expr() returns int as $$ begin return ; end;$$ language plpgsql
---
create function void_return_expr() returns void as $$ begin return 5; end;$$ language plpgsql
---
create function void_return_expr() returns void as $$ begin perform 2+2; end;$$ language plpgsql
---
select void_return_expr()
---
create function missing_return_expr() returns int as $$ begin perform 2+2; end;$$ language plpgsql
---
select missing_return_expr()
---
create table eifoo (i integer, y integer)
---
create type eitype as (i integer, y integer)
---
create function execute_into_test(varchar) returns record as $$ declare _r record; begin return _r; end $$ language plpgsql
---
do $$ declare _rt eifoo%rowtype; _v eitype; i int; j int; k int; begin execute 'insert into eifoo values(10,15)'; execute 'select (row).* from (select row(10,1)::eifoo) s' into _rt; raise notice '% %', _rt.i, _rt.y; execute 'select * from eifoo limit 1' into _v; raise notice '% %', _v.i, _v.y; execute 'select 1,2,3' into i, j, k; raise notice '% % %', i, j, k; end $$
---
create function excpt_test3() returns void as $$
begin
    begin raise exception 'user exception';
    exception when others then
        raise notice 'caught exception % %', sqlstate, sqlerrm;
        begin raise notice '% %', sqlstate, sqlerrm; perform 10/0;
        exception when substring_error then raise notice 'unexpected exception: % %', sqlstate, sqlerrm;
            when division_by_zero then raise notice 'caught exception % %', sqlstate, sqlerrm;
        end;
        raise notice '% %', sqlstate, sqlerrm;
    end;
end; $$ language plpgsql
---
select excpt_test3()
---
create function excpt_test1() returns void as $$ begin raise notice '% %', sqlstate, sqlerrm; end; $$ language plpgsql
---
select excpt_test1()
---
create function raise_exprs() returns void as $$ declare a integer[] = '{10,20,30}'; c varchar = 'xyz'; i integer; begin i := 2; raise notice '%; %; %; %; %; %', a, a[i], c, (select c || 'abc'), row(10,'aaa',NULL,30), NULL; end;$$ language plpgsql
---
select raise_exprs()
---
create function continue_test1() returns void as $$
declare _i integer = 0; _r record;
begin
  raise notice '---1---';
  loop _i := _i + 1; raise notice '%', _i; continue when _i < 10; exit; end loop;
  raise notice '---2---';
  <<lbl>> loop _i := _i - 1; loop raise notice '%', _i; continue lbl when _i > 0; exit lbl; end loop; end loop;
  raise notice '---3---';
  <<the_loop>> while _i < 10 loop _i := _i + 1; continue the_loop when _i % 2 = 0; raise notice '%', _i; end loop;
  raise notice '---4---';
  for _i in 1..10 loop begin continue when _i < 5; raise notice '%', _i; end; end loop;
  raise notice '---5---';
  for _r in select * from found_test_tbl order by a loop continue when _r.a < 5; raise notice '%', _r.a; end loop;
  raise notice '---6---';
  for _r in execute 'select * from found_test_tbl order by a' loop continue when _r.a < 5; raise notice '%', _r.a; end loop;
end; $$ language plpgsql
---
select continue_test1()
---
do $$ begin <<outer_block>> begin for i in 1..3 loop exit outer_block when i = 2; raise notice '%', i; end loop; raise notice 'not reached'; end; <<l>> loop begin exit l; exception when others then null; end; end loop; end $$
---
do $$ begin begin loop continue; end loop; end; exit no_such_label; end $$
---
create function stricttest() returns void as $$ declare x record; p1 int := 2; p3 text := $a$'Valame Dios!' dijo Sancho; 'no le dije yo a vuestra merced que mirase bien lo que hacia?'$a$; begin select * from (values (1)) foo(f1) where f1 = p1 and f1::text = p3 into strict x; raise notice 'x.f1 = %', x.f1; end$$ language plpgsql
---
select stricttest()
---
create or replace function stricttest() returns void as $$
#print_strict_params on
declare x record; p1 int := 2; p3 text := 'foo'; begin select * from (values (1)) foo(f1) where f1 = p1 and f1::text = p3 into strict x; end$$ language plpgsql
---
select stricttest()
---
create function error1(text) returns text language sql as $$ select 'x'::text $$
---
create function unreserved_test() returns int as $$ declare forward int := 21; begin forward := forward * 2; return forward; end $$ language plpgsql
---
select unreserved_test()
---
create or replace function unreserved_test() returns int as $$ declare return int := 42; begin return := return + 1; return return; end $$ language plpgsql
---
select unreserved_test()
---
create function foreach_test(anyarray) returns void as $$ declare x int; begin foreach x in array $1 loop raise notice '%', x; end loop; end; $$ language plpgsql
---
select foreach_test(ARRAY[1,2,3,4])
---
create function vari(variadic int[]) returns void as $$ begin for i in array_lower($1,1)..array_upper($1,1) loop raise notice '%', $1[i]; end loop; end $$ language plpgsql
---
select vari(1,2,3,4,5)
---
create function pleast(variadic numeric[]) returns numeric as $$ declare aux numeric = $1[array_lower($1,1)]; begin for i in array_lower($1,1)+1..array_upper($1,1) loop if $1[i] < aux then aux := $1[i]; end if; end loop; return aux; end $$ language plpgsql immutable strict
---
select pleast(10,1,2,3,-16), pleast(10.2,2.2,-1.1)
---
create function inline_alias(a int) returns int as $$ declare b alias for a; c alias for $1; begin b := b + 1; return c; end $$ language plpgsql
---
select inline_alias(5)
---
drop function foreach_test(anyarray), vari(int[])
---
drop type eitype

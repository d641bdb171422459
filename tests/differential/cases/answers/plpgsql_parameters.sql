-- Parameters of PL/pgSQL routines are variables by their numbers too: targets of every statement that has one.
-- setup
create schema answers_plpgsql_parameters;
set search_path = answers_plpgsql_parameters;
create table t(a int, b text);
insert into t values (1, 'x'), (2, 'y');
-- cases
create function pf(int, refcursor) returns refcursor language plpgsql as $$ begin open $2 for select $1; return $2; end $$;
begin;
select pf(1, 'c');
fetch c;
rollback;
create function pa(int, int) returns int language plpgsql as $$ begin $2 := $1 + 1; $1 = $2 * 2; return $1 + $2; end $$;
select pa(1, 2), pa(a, a) from t;
create function pb(a int, b int) returns int language plpgsql as $$ begin select 7 into $2; return b + $1; end $$;
select pb(1, 2);
create function pc(int[]) returns int[] language plpgsql as $$ begin $1[2] := 9; return $1; end $$;
select pc('{1,2,3}');
create function pe(int) returns int language plpgsql as $$ begin perform 1 from t; get diagnostics $1 = row_count; return $1; end $$;
select pe(5);
create function pg(int, text) returns text language plpgsql as $$ begin for $1, $2 in select * from t order by 1 desc loop null; end loop; return $1 || $2; end $$;
select pg(5, 'q');
create function ph(int, int[]) returns int language plpgsql as $$ declare s int := 0; begin foreach $1 in array $2 loop s := s + $1; end loop; return s; end $$;
select ph(5, '{1,2,3}');
create function pi(int, refcursor) returns int language plpgsql as $$ begin open $2 for select a from t order by a; fetch $2 into $1; fetch next from $2 into $1; close $2; return $1; end $$;
select pi(5, 'cc');
create function pj(int) returns int language plpgsql as $$ begin insert into t values ($1, 'n') returning a + 1 into $1; return $1; end $$;
select pj(5);
create function pk(int) returns int language plpgsql as $$ begin execute 'select $1 * 3' into $1 using $1; return $1; end $$;
select pk(5);
create procedure pl(inout int, int) language plpgsql as $$ begin $1 := $2 * 10; end $$;
call pl(1, 2);
create function pm(t) returns text language plpgsql as $$ begin $1.b := 'changed'; return $1.b || $1.a; end $$;
select pm(t) from t where a < 3;
create function pn(out int, int, out text) language plpgsql as $$ begin $1 := $2; $3 := 'o' || $2; end $$;
select * from pn(4);
-- error 42601
create function po(int) returns int language plpgsql as $$ begin $2 := 1; return 1; end $$;
-- error 42601
create function pp(int) returns int language plpgsql as $$ begin select 1 into $7; return 1; end $$;
do $$ begin perform 1; end $$;

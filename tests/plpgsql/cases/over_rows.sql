create table t (a int, b text)
---
insert into t values (1,'x'),(2,'y'),(3,'x'),(4,null)
---
create function par(n int) returns text language plpgsql as $$ begin if n % 2 = 0 then return 'even'; else return 'odd'; end if; end $$
---
create function dbl(n int) returns int language plpgsql as $$ declare x int; begin x := n * 2; return x; end $$
---
create function pos(n int) returns bool language plpgsql as $$ begin if n > 2 then return true; end if; return false; end $$
---
select * from t where par(a) = 'odd' order by a
---
select a, dbl(a) from t where par(a) = 'odd' and a > 1
---
select par(a), count(*), sum(dbl(a)) from t group by par(a) order by par(a)
---
select par(a) p, count(*) from t group by p having count(*) > 1 order by p desc
---
select sum(dbl(a)), max(par(a)), count(*) filter (where pos(a)) from t
---
select a from t order by dbl(-a)
---
select a, dbl(a) from t order by 2 desc
---
select distinct on (par(a)) a, par(a) from t order by par(a), a desc
---
select a, row_number() over (order by dbl(-a)) from t order by a
---
select dbl(dbl(a)) from t where dbl(dbl(a)) > 4 order by 1
---
select x.a, y.a from t x join t y on x.b = y.b where dbl(x.a) = y.a + 1 order by 1,2
---
select a from t where pos(a) order by a
---
select a from t where not pos(a) order by a
---
select a from t where exists (select 1 from t u where u.b = t.b and u.a <> t.a) and pos(a)
---
select a from t where a in (select dbl(a) from t)  order by a
---
select count(*) from (select par(a) p from t where pos(a)) s where p = 'odd'
---
create view pv as select a, par(a) p from t where dbl(a) > 2
---
select p, count(*) from pv group by p order by p
---
select coalesce(b, 'none'), dbl(a) from t order by a
---
select a from t where pos(a) or a = 1
---
update t set b = par(a) where pos(a)
---
select * from t order by a
---
delete from t where dbl(a) = 8
---
select * from t order by a
---
insert into t select dbl(a), par(a) from t where dbl(a) > 2
---
select * from t order by a
---
select distinct par(a) from t order by 1
---
drop view pv
---
create table numbers as select generate_series(1, 4) as a
---
create table calls (n int)
---
create function counted(n int) returns int language plpgsql as $$ begin insert into calls values (n); return n; end $$
---
create function steady(n int) returns int stable language plpgsql as $$ declare x int; begin x := n; return x; end $$
---
select counted(a) from numbers where counted(a) > 1 and counted(a) < 4 order by a
---
select n, count(*) from calls group by n order by n
---
select a from numbers where counted(a) between 2 and 3 order by a
---
select n, count(*) from calls group by n order by n
---
select a from numbers where counted(a) > 1 and steady(a) < 4 and counted(a + 1) > 3 and steady(a) > 0 order by a
---
select n, count(*) from calls group by n order by n
---
select sum(counted(a)), max(counted(a)) from numbers
---
select n, count(*) from calls group by n order by n
---
select counted(a), count(*) from numbers group by counted(a) order by counted(a)
---
select n, count(*) from calls group by n order by n
---
select counted(a) from numbers order by counted(a) desc
---
select n, count(*) from calls group by n order by n
---
select counted(a), counted(a) from numbers order by a
---
select n, count(*) from calls group by n order by n

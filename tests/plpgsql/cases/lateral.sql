create function fr(n int) returns table(a int, b int) language plpgsql as $$ begin for i in 1..n loop a := i; b := i * i; return next; end loop; end $$
---
create function fs(n int) returns int language plpgsql as $$ declare x int; begin x := n + 100; return x; end $$
---
create function fstrict(n int) returns setof int strict language plpgsql as $$ begin return next n; return next n + 1; end $$
---
select g, f.* from generate_series(1,3) g, lateral fr(g) f order by 1,2
---
select * from (values (1),(0),(2)) v(x) left join lateral fr(x) f on true where x < 2 order by 1,2
---
select * from (values (1),(2)) v(x) cross join fr(x + 1) f order by 1,2
---
select x, sum(f.b), count(*) from (values (1),(2),(4)) v(x), fr(x) f group by x order by x
---
select * from (values (1),(2)) v(x), fs(x) y, fr(y - 100) z order by 1,2,3
---
select * from (values (1),(null)) v(x), fstrict(x) y order by 1,2
---
select * from (values (1),(2)) v(x) join lateral fr(x) f on f.a = v.x order by 1
---
with c as (select 2 as k) select * from c, fr(c.k) order by a
---
select * from (select x * 2 as d from (values (1),(2)) v(x)) s, fr(d) f where f.a > 1 order by 1,2
---
create table lt (a int, b text)
---
insert into lt values (1,'x'),(2,'y')
---
insert into lt select f.a + 10, lt.b from lt, fr(lt.a) f
---
select * from lt order by a, b
---
select (select max(b) from fr(2))
---
create view lv as select lt.a, f.b as fb from lt, fr(lt.a) f where lt.a < 5
---
select * from lv order by 1,2
---
drop view lv
---
create table lu (id int, other int)
---
insert into lu values (1, 1), (2, 2), (3, 3)
---
select u.id, g.y from lu u left join ((values (1), (3)) a(x) join fs(a.x) as g(y) on g.y > 1) on u.id = a.x order by 1, 2
---
select u.id, g.y from (values (1), (3)) a(x) join fs(a.x) as g(y) on g.y > 1 right join lu u on u.id = a.x order by 1, 2
---
select u.id, g.y from (values (1), (3)) a(x) join fs(a.x) as g(y) on g.y > a.x full join lu u on u.id = g.y order by 1, 2
---
select x, y from (values (1), (3)) a(x) join fs(a.x) as g(y) on g.y > 1 where x > 1 order by 1, 2
---
select u.id, g.y from lu u left join ((values (1), (3)) a(x) join fs(a.x) as g(y) on g.y > 1 join fs(g.y) as h(z) on h.z < g.y) on u.id = a.x order by 1, 2

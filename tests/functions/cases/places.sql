-- long operands, which are bound as lambda parameters, wherever an expression may stand
select upper(string_agg(x, ',' order by x) over (partition by left(x, 1) order by x)) from (values ('ab'), ('ac'), ('b')) v(x) order by 1
select upper(reverse(coalesce((select max(lower(reverse(upper(y)))) from (values ('ä1'), ('b2')) w(y) where left(y, 1) <> left(x, 1)), 'none at all'))) from (values ('ab'), ('b')) v(x) order by 1
select upper(reverse(lower(reverse(upper(x))))), count(*) from (values ('a'), ('A'), ('b')) v(x) group by upper(reverse(lower(reverse(upper(x))))) having upper(reverse(lower(reverse(upper(x))))) > 'A' order by upper(reverse(lower(reverse(upper(x)))))
select * from (values ('a'), ('b')) v(x) join (values ('A'), ('C')) w(y) on upper(reverse(lower(reverse(upper(x))))) = upper(reverse(lower(reverse(upper(y)))))
select * from (values ('a'), ('b')) v(x) left join (values ('A'), ('C')) w(y) on upper(reverse(lower(reverse(upper(x))))) = upper(reverse(lower(reverse(upper(y))))) order by x
select sum((a * b + c) * (a - b) / (c + 1.5)) over (order by a), rank() over (order by sqrt((a * b + c) * (a * b + c) + 1)) from (values (1.5::float8, 2.5::float8, 3.5::float8), (2, 3, 4)) v(a, b, c) order by a
select distinct on (upper(reverse(lower(reverse(upper(x)))))) x from (values ('a'), ('A'), ('b')) v(x) order by upper(reverse(lower(reverse(upper(x))))), x
select x from (values ('a'), ('b')) v(x) where exists (select 1 from (values ('A')) w(y) where upper(reverse(lower(reverse(upper(x))))) = upper(reverse(lower(reverse(upper(y))))))
select case when upper(reverse(lower(reverse(upper(x))))) = 'A' then 1 / (length(x) - 1) else 0 end from (values ('b')) v(x)
select (select sum(round(a / b, 2)) from (values (1.0, 3.0), (2, 7)) w(a, b) where a < c) from (values (1.5), (5)) v(c)
select array(select upper(reverse(lower(reverse(upper(x))))) from (values ('a'), ('b')) v(x) order by 1)
with recursive r(n, t) as (select 1, 'a'::text union all select n + 1, upper(reverse(lower(reverse(t || 'b')))) from r where n < 4) select * from r
select x, l from (values ('a,b'), ('c')) v(x), lateral unnest(string_to_array(upper(reverse(lower(reverse(upper(x))))), ',')) l order by 1, 2
select max(upper(reverse(lower(reverse(upper(x)))))) filter (where length(upper(reverse(lower(reverse(upper(x)))))) > 1), string_agg(distinct upper(reverse(lower(reverse(upper(x))))), ',') from (values ('a'), ('bb'), ('BB')) v(x)
select upper(reverse(lower(reverse(upper(max(x)))))), avg(length(upper(reverse(lower(reverse(upper(x))))))) from (values ('a'), ('bb')) v(x)
select x from (values ('a'), ('b')) v(x) where upper(reverse(lower(reverse(upper(x))))) in (select upper(reverse(lower(reverse(upper(y))))) from (values ('A'), (null)) w(y))
select greatest(round(a / b, 3), round(b / a, 3)), nullif(a / b, 0.5), coalesce(a / nullif(b, 0), -1), a / b between 0.3 and 0.5, a / b in (0.5, 2) from (values (1.0, 2.0), (1, 3)) v(a, b)
select a / b from (values (1.0, 2.0), (1, 3)) v(a, b) union select 0.7 union all select 7 order by 1
select a / b, count(*) from (values (1.0, 2.0), (2, 4), (1, 3)) v(a, b) group by a / b order by 1

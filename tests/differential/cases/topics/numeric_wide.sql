-- numeric beyond 38 digits: NaN, infinities, and values that 128 bits have no room for, wherever numerics are.
-- literals, special values and arithmetic
select 1.5::numeric + 2;
select 'NaN'::numeric;
select 'Infinity'::numeric, '-inf'::numeric;
select 1e50::numeric;
select 2::numeric^200;
select factorial(40);
select 'NaN'::numeric + 1, 'inf'::numeric - 'inf'::numeric;
select 1e40 * 1e40 + 0.5;
select 'NaN'::float8::numeric;
select 'NaN'::numeric > 'inf'::numeric, 'NaN'::numeric = 'NaN'::numeric;
select sum(x), avg(x), min(x), max(x), count(distinct x) from (values (1e50), (2.50), (3.5), (3.50)) v(x);
-- ordered
select x from (values (1e50), ('NaN'::numeric),('-inf'::numeric), (2.5), (2.50)) v(x) order by x desc;
-- ordered
select x, count(*) from (values (1e50), ('NaN'::numeric),('NaN'), (2.5), (2.5)) v(x) group by x order by x;
select (9223372036854775807::int8::numeric * 9223372036854775807 * 9223372036854775807);
select 'NaN'::numeric(10,2);
-- error 22003
select 'inf'::numeric(10,2);
select 1e60::numeric(70,2);
select 123.456::numeric(60,1);
select 12345::numeric(5,-2);
select round('NaN'::numeric,2), trunc('inf'::numeric), ceil('-inf'::numeric);
-- error 0A000
select 'NaN'::numeric::int;
-- error 22003
select 'inf'::numeric::float8, 1e400::numeric::float8;
select sqrt(1e100), 1e50/3, mod(1e50,7), div(1e50,7), abs(-1e50), sign(-1e50), scale(1e-45), min_scale(1e-45), trim_scale(1.5e-45 * 10);
select stddev(x), variance(x) from (values (1e30),(2e30),(3.5e31)) v(x);
select 1e50::text, (1e50)::numeric::text || 'a', to_jsonb('NaN'::numeric), array[1e50, 2.5];
-- columns
create table nw_w (id int, n numeric(60,20));
insert into nw_w values (1, 1e35), (2, 'NaN'), (3, 1.5), (4, null), (5, -7.123456789012345678901234567890);
-- ordered
select * from nw_w order by n, id;
-- ordered
select n, n*2, n/3, n::text, n::float8 from nw_w order by id;
select sum(n), avg(n), min(n), max(n), count(n), count(distinct n), stddev(n) from nw_w where n < 'NaN';
select sum(n), max(n), count(*) from nw_w;
-- ordered
select n, count(*) from nw_w group by n order by n;
-- ordered
select a.id, b.id from nw_w a join nw_w b on a.n = b.n order by 1, 2;
update nw_w set n = n + 1 where id = 1;
-- ordered
select * from nw_w where n > 1e30 order by n;
delete from nw_w where n = 'NaN';
-- ordered
select * from nw_w order by id;
insert into nw_w select 6, 10::numeric^39;
-- error 22003
insert into nw_w values (7, 10::numeric^40);
-- error 22003
insert into nw_w values (7, 'inf');
-- ordered
select * from nw_w order by id desc;
alter table nw_w add column m numeric(50,2) default 1e40;
-- ordered
select * from nw_w order by id desc;
create table nw_t (n numeric);
insert into nw_t values ('NaN'), (1e60);
-- ordered
select * from nw_t order by n;
insert into nw_t values (1.50), (1.5), (-1e-30);
insert into nw_t select 'Infinity'::float8::numeric;
-- ordered
select n, count(*) from nw_t group by n order by n;
create table nw_big (a bigint, b bigint, c bigint);
insert into nw_big values (9223372036854775807, 9223372036854775807, 9223372036854775807), (1,2,3);
select sum(a::numeric*b*c) from nw_big;
-- ordered
select a, sum(a::numeric*b*c) over (order by a) from nw_big order by a;
create table nw_u (id int, p numeric(10,2), q numeric);
insert into nw_u values (1, 1.25, 2.5), (2, 2.25, 1e10);
insert into nw_u values (3, 'NaN', 1);
-- ordered
select * from nw_u order by id;
update nw_u set q = 1e70 where id = 2;
-- ordered
select * from nw_u order by id;
select sum(p), sum(q), avg(q) from nw_u;
select sum(p) from nw_u where id < 3;
insert into nw_u (id, q) values (4, 'inf') returning *;
-- error 22003
update nw_u set p = 'inf';
-- error 22003
update nw_u set p = 1e9;
create view nw_v as select id, q, q*2 as d from nw_u;
-- ordered
select * from nw_v order by id;
create table nw_u2 as select * from nw_u;
-- ordered
select * from nw_u2 order by id;
create table nw_u3 as select 2::numeric^200 as x, 1.5 as y;
select * from nw_u3;
select x, y+1 from nw_u3;
merge into nw_u u using (values (1, 'NaN'::numeric), (9, 5e50)) s(id, q) on u.id = s.id when matched then update set q = s.q when not matched then insert values (s.id, 1, s.q);
-- ordered
select * from nw_u order by id;
create table nw_k (n numeric primary key);
insert into nw_k values (1), ('NaN'), (1e50);
-- error 23505
insert into nw_k values ('NaN');
-- error 23505
insert into nw_k values (1.0);
insert into nw_k values (2) on conflict do nothing;
insert into nw_k values ('NaN') on conflict (n) do update set n = 5;
-- ordered
select * from nw_k order by n;
begin;
insert into nw_u values (10, 1, 1);
insert into nw_u2 values (10, 1, 1e55);
savepoint a;
insert into nw_u2 values (11, 'NaN', 1e56);
rollback to a;
insert into nw_u2 values (12, 1, 2);
commit;
-- ordered
select * from nw_u2 order by id;
-- functions
-- error 22023
select generate_series('NaN'::numeric, 5, 1);
-- error 22023
select generate_series(1, 'NaN'::numeric, 1);
-- error 22023
select generate_series(1, 5, 'NaN'::numeric);
-- error 22023
select generate_series('inf'::numeric, 5, 1);
-- error 22023
select generate_series(1, 'inf'::numeric, 1);
-- error 22023
select generate_series(1, 5, 'inf'::numeric);
-- error 22023
select generate_series(1, 5, 0::numeric);
select * from generate_series(1e40, 1e40+3, 1);
select * from generate_series(1e40+3, 1e40, -1.5);
create function nw_f(x numeric) returns numeric language plpgsql as $$ declare y numeric; begin y := x * 2; return y + 1; end $$;
select nw_f('NaN'), nw_f(1e60), nw_f(1.5), nw_f('-inf');
create function nw_g() returns numeric language plpgsql as $$ declare y numeric := 2; begin for i in 1..8 loop y := y * y; end loop; return y; end $$;
select nw_g();
do $$ declare x numeric := 'NaN'; y numeric(10,2) := 1.555; begin if x <> 'NaN' then raise exception 'bad'; end if; y := 'NaN'; if y <> 'NaN' then raise exception 'bad2'; end if; raise notice '% %', x, y; end $$;
-- error 22003
do $$ declare x numeric(10,2); begin x := 'inf'; end $$;
create function nw_h(n int) returns numeric language plpgsql as $$ declare r numeric := 1; begin for i in 1..n loop r := r * i; end loop; return r; end $$;
select nw_h(50), nw_h(10), factorial(50) = nw_h(50);
create function nw_sq(x numeric) returns numeric language sql as $$ select x * x $$;
select nw_sq(1e30), nw_sq('inf'), nw_sq(2.5);
select '{"a": 12345678901234567890123456789012345678901234567890.5}'::jsonb;
select ('{"a": 12345678901234567890123456789012345678901234567890.5}'::jsonb->'a')::numeric;
select ('{"a": 12345678901234567890123456789012345678901234567890.5}'::jsonb->>'a')::numeric * 2;
select '1e60'::jsonb, '[1e40, 2]'::jsonb = '[1E+40, 2.0]'::jsonb;
select jsonb_build_object('a', 1e45, 'b', 'NaN'::numeric), json_agg(x) from (values (1e50), ('NaN'::numeric)) v(x);
select x, lag(x) over (order by x), sum(x) over (order by x), rank() over (order by x), avg(x) over () from (values (1e50), (2.5), (3), ('NaN')) v(x) order by x;
select array_agg(x order by x), string_agg(x::text, ',' order by x) from (values (1e50), (2.5), ('NaN')) v(x);
select coalesce(null, 'NaN'::numeric), greatest(1, 'NaN'::numeric, 5), least(1e50, 2), nullif('NaN'::numeric, 'NaN'), case when true then 1e50 else 1 end;
-- ordered
select distinct x from (values ('NaN'::numeric), ('NaN'), (1.0), (1e50)) v(x) order by 1;
-- ordered
select x from (values ('NaN'::numeric)) v(x) union select 1.5 union all select 1e45 order by 1;
-- ordered
select x from (values ('NaN'::numeric), (1.5)) v(x) except select 'NaN'::numeric order by 1;
select sum(distinct x), avg(distinct x), count(distinct x) from (values (1e50), (1e50), (2.5), (2.50)) v(x);
select percentile_disc(0.5) within group (order by x), mode() within group (order by x), percentile_cont(0.5) within group (order by x) from (values (1e50), (2.5), (2.5)) v(x);
select 'NaN'::numeric in (1, 'NaN'), 'NaN'::numeric between 1 and 'NaN', 'NaN'::numeric = any(array[1, 'NaN'::numeric]), 5 < all(array['NaN'::numeric, 1e50]);
select extract(epoch from timestamp 'infinity'), extract(year from date '-infinity'), extract(hour from timestamp 'infinity'), extract(julian from timestamp '-infinity');
select to_char('NaN'::numeric, '999'), to_char(1e50, '9.99EEEE'), to_char('inf'::numeric, 'FM999');
select to_char(12345678901234567890123456789012345678901234567890.5, '999G999G999');
select to_number('12345678901234567890123456789012345678901234567890', '99999999999999999999999999999999999999999999999999');
-- error 22003
select 1e50::int8;
-- error 0A000
select 'NaN'::numeric::int2;
-- error 22003
select 1e50::float8, 1e-50::float4;
-- error 22003
select 1e39::float4;
select 'NaN'::numeric::text, '1e50'::text::numeric, ' 1e-40 '::text::numeric;
-- error 22P02
select '+NaN'::numeric;
select 'nan '::numeric, ' INF'::numeric;
-- error 22003
select '1e131072'::numeric;
select length((1e131071::numeric)::text), scale('1e-16383'::numeric);
-- error 22003
select '1e-16384'::numeric = 0, scale('1e-16390'::numeric);
-- error 22003
select '1e-20000'::numeric = 0;
select 0.1 ^ 20, 10 ^ 40::numeric, 2 ^ 1000::numeric, 1.5 ^ 200.5;
select exp(100.0), exp(1000.0), ln(1e60), log(1e60), sqrt(1e61), sqrt(2e-60);
-- error 22003
select exp(6000.0);
select exp(-6001.0) = 0, exp('-inf'::numeric), ln('inf'::numeric), power('inf'::numeric, -1);
-- error 2201E
select log('-inf'::numeric);
-- error 2201E
select ln(0::numeric);
-- error 2201G
select width_bucket(1e50, 0, 1e51, 10), width_bucket('NaN'::numeric, 0, 1, 5);
-- error 2201G
select width_bucket('inf'::numeric, 0, 1, 5), width_bucket(1, 0, 'inf'::numeric, 5);
select round(1e50, -49), trunc(1.55e50, -49), round(1e-45, 44), round(12345.6789, 60), trunc(1.5, 60), round('inf'::numeric, 3);
select bit_length('a') + 1e40, abs('-inf'::numeric), -'inf'::numeric, +'NaN'::numeric, @ (-1e50);
select 1e50 % 7, 'inf'::numeric % 3, 5 % 'inf'::numeric, 'NaN'::numeric / 0, 0 * 'inf'::numeric;
-- error 22012
select 'inf'::numeric / 0;
select 1e40 > 1e39::float8, 1e40 = 1e40::float8, 'NaN'::numeric = 'NaN'::float8, 5 < 'inf'::numeric;
select var_pop(x), var_samp(x), stddev_pop(x), stddev_samp(x) from (values (1e50), (2e50), ('NaN')) v(x);
select var_pop(x), stddev_samp(x) from (values (1e50), (2e50)) v(x) where false;
select sum(x) from (values ('inf'::numeric), ('-inf')) v(x);
select sum(x), avg(x), max(x) from (values ('inf'::numeric), (1)) v(x);
-- ordered
with recursive r(n, f) as (select 1, 1::numeric union all select n + 1, f * (n + 1) from r where n < 60) select n, f from r where n > 55 order by n;
-- ordered
with recursive r(n, f) as (select 1, 'NaN'::numeric union all select n + 1, f + 1 from r where n < 3) select * from r order by n;
select row('NaN'::numeric, 1) = row('NaN'::numeric, 1), row(1e50, 2) < row(1e50, 'NaN'::numeric);
select (select 'NaN'::numeric), exists(select 1 where 'NaN'::numeric > 1e50), array(select 1e50), 'NaN'::numeric in (select 1.5 union select 'NaN');
select sum(x::numeric), avg(x::numeric) from (values ('NaN'::float8), (1.5)) v(x);
select min_scale(1e50), scale('NaN'::numeric), trim_scale(1e-50 * 10), sign('NaN'::numeric), ceil(1e50 + 0.5), floor(-1e50 - 0.5);
select lcm(1e40, 3), gcd(1e40, 15), div(1e50, 3), mod(-1e50, 7), factorial(100);
-- error 22003
select factorial(40000);
create domain nw_dn as numeric check (value > 0);
select 1e50::nw_dn, 'NaN'::nw_dn;
select 'inf'::numeric::nw_dn + 1;
-- other places
select numeric_inc(1.50), numeric_inc(x) from (values (1.5),(2.25)) v(x);
create table nw_a (id int, x numeric[], y numeric(6,2)[]);
insert into nw_a values (1, '{1.5,NaN}', '{1.555,2}');
insert into nw_a values (2, array[1e50, 2], '{NaN}'), (3, null, '{}');
-- ordered
select * from nw_a order by id;
-- ordered
select id, x[1] + 1, unnest(x) from nw_a order by id, 3;
update nw_a set x[2] = 'inf' where id = 2;
-- ordered
select x, x || 5, array_length(x, 1), 1e50 = any(x) from nw_a order by id;
create table nw_par (k int, n numeric) partition by range (k);
create table nw_par1 partition of nw_par for values from (0) to (10);
create table nw_par2 partition of nw_par for values from (10) to (20);
insert into nw_par values (1, 1), (11, 2);
insert into nw_par values (2, 'NaN'), (12, 1e50);
-- ordered
select * from nw_par order by k;
-- ordered
select * from nw_par1 order by k;
update nw_par set n = n + 1;
-- ordered
select * from nw_par order by n, k;
create table nw_parn (n numeric(10,2)) partition by range (n);
create table nw_parn1 partition of nw_parn for values from (0) to (100);
insert into nw_parn values (5);
create table nw_pk (n numeric primary key);
create table nw_fk (id int, n numeric references nw_pk on update cascade);
insert into nw_pk values (1), (2);
insert into nw_fk values (1, 1);
insert into nw_pk values ('NaN');
insert into nw_fk values (2, 'NaN'), (3, 1.0);
-- error 23503
insert into nw_fk values (4, 1e50);
update nw_pk set n = 'inf' where n = 1;
-- ordered
select * from nw_fk order by id;
-- error 23503
delete from nw_pk where n = 'NaN';
create table nw_d (id int, n numeric default 'NaN', m numeric(8,2) default 1.5);
insert into nw_d (id) values (1);
insert into nw_d values (2, default, default);
-- ordered
select * from nw_d order by id;
create table nw_c (n numeric check (n < 'NaN'));
insert into nw_c values (5), (1e70);
-- error 23514
insert into nw_c values ('NaN');
-- ordered
select * from nw_c order by n;
create table nw_tr (id int, n numeric);
create function nw_trf() returns trigger language plpgsql as $$ begin new.n := new.n * 1e40; return new; end $$;
create trigger nw_trg before insert on nw_tr for each row execute function nw_trf();
insert into nw_tr values (1, 2), (2, 'NaN');
-- ordered
select * from nw_tr order by id;
create function nw_trg2() returns trigger language plpgsql as $$ begin raise notice '%', new.n; return null; end $$;
create trigger nw_trg3 after insert on nw_tr for each row execute function nw_trg2();
insert into nw_tr values (3, 3);
-- ordered
select * from nw_tr order by id;
create table nw_oc (id int primary key, n numeric);
insert into nw_oc values (1, 1);
insert into nw_oc values (1, 'inf') on conflict (id) do update set n = excluded.n;
insert into nw_oc values (1, 5), (2, 1e40) on conflict (id) do update set n = nw_oc.n + excluded.n returning *;
-- ordered
select * from nw_oc order by id;
with x as (insert into nw_oc values (7, 'NaN') returning *) select * from x;
with x as (update nw_oc set n = 1e44 where id = 7 returning n) select n * 2 from x;
create view nw_vv as select id, n from nw_oc;
insert into nw_vv values (8, '-inf');
update nw_vv set n = 3 where id = 8;
-- ordered
select * from nw_vv order by id;
create materialized view nw_mv as select id, n from nw_oc;
-- ordered
select * from nw_mv order by id;
create table nw_q (id int, n numeric);
insert into nw_q values (1, 1.5);
create view nw_qv as select id, n, n + 1 as m from nw_q;
create materialized view nw_qm as select * from nw_qv;
insert into nw_q values (2, 'NaN');
-- ordered
select * from nw_qv order by id;
refresh materialized view nw_qm;
-- ordered
select * from nw_qm order by id;
-- error 0A000
alter table nw_q alter column n type numeric(50,3);
alter table nw_q add column z numeric(10,2) default 'NaN';
-- ordered
select * from nw_q order by id;
-- ordered
select * from nw_q order by id;
-- ordered
select * from nw_q order by id;
-- ordered
select z from nw_q order by id;
create table nw_q3 (a text);
insert into nw_q3 values ('NaN'), ('1e50'), ('2.5');
alter table nw_q3 alter column a type numeric using a::numeric;
-- ordered
select a, a + 1 from nw_q3 order by a;
alter table nw_q3 alter column a type numeric(60,1);
-- ordered
select a from nw_q3 order by a;
create table nw_q4 (a float8);
insert into nw_q4 values ('NaN'), (1e300), (2.5);
alter table nw_q4 alter column a type numeric;
-- ordered
select a from nw_q4 order by a;
create table nw_q5 (a int, b numeric generated always as (a * 1e37 * a) stored);
insert into nw_q5 values (1), (2000);
-- ordered
select * from nw_q5 order by a;
create temp table nw_tt as select 'NaN'::numeric as n;
insert into nw_tt values (1);
-- ordered
select * from nw_tt order by n;
prepare p(numeric) as select $1 + 1, $1 > 5;
execute p('NaN');
execute p(1e60);
execute p(1.5);
prepare p2(numeric) as insert into nw_tt values ($1) returning *;
execute p2(7);
execute p2('inf');
create table nw_lk (a numeric, b int);
insert into nw_lk select 'NaN', g from generate_series(1, 3) g;
insert into nw_lk select g, g from generate_series(1, 2000) g;
select count(*), max(a), min(a), sum(b) from nw_lk where a > 1990;
-- ordered
select l.b, count(*) from nw_lk l join nw_lk r on l.a = r.a where l.b < 4 group by l.b order by 1;
create index on nw_lk (a);
analyze nw_lk;
truncate nw_lk;
insert into nw_lk values (5, 1);
select * from nw_lk;
-- error 25P01
declare cc cursor for select 'NaN'::numeric;
begin;
declare cc cursor for select x from (values ('NaN'::numeric), (1e50)) v(x);
fetch all from cc;
commit;
-- ordered
select sum(n) over w, avg(n) over w from nw_oc window w as (order by id rows between 1 preceding and current row) order by 1;
-- ordered
select id, n, ntile(2) over (order by n), dense_rank() over (order by n desc), first_value(n) over (order by n), lead(n, 1, 0) over (order by id) from nw_oc order by id;
-- error 22003
select n::numeric(10,2) from nw_oc where id = 1;
-- ordered
select case when n > 1e40 then 'big' else 'small' end, count(*) from nw_oc group by 1 order by 1;
-- ordered
select n, grouping(n), count(*) from nw_oc group by rollup(n) order by n nulls last;
-- ordered
select * from jsonb_to_recordset('[{"n": 1e50}, {"n": "NaN"}]') as t(n numeric) order by n;
select * from json_populate_record(null::nw_oc, '{"id": 1, "n": 12345678901234567890123456789012345678901234567890}');
select jsonb_path_query('{"a": 1e50}', '$.a * 2');
select '[1e50]'::jsonb @> '[100000000000000000000000000000000000000000000000000]', jsonb_path_query_first('[1e40, 2]', '$[*] ? (@ > 5)');
-- keys of partitions
create table nw_x1 (n numeric(60,0)) partition by range (n);
create table nw_x11 partition of nw_x1 for values from (0) to (1e50);
create table nw_x12 partition of nw_x1 for values from (1e50) to (maxvalue);
insert into nw_x1 values (5), (1e55), ('NaN');
-- ordered
select n from nw_x12 order by n;
create table nw_z1 (n numeric(60,0)) partition by list (n);
create table nw_z11 partition of nw_z1 for values in (1, 1e50);
insert into nw_z1 values (1e50);
select n from nw_z11;
select n from nw_z1 where n = 1;
create table nw_x2 (n numeric, k int) partition by list (n);
create table nw_x21 partition of nw_x2 for values in (1, 2);
insert into nw_x2 values (1);
-- error 23514
insert into nw_x2 values ('NaN');
create table nw_x22 partition of nw_x2 default;
insert into nw_x2 values ('NaN'), (1e50), (2);
-- ordered
select n from nw_x21 order by n;
-- ordered
select n from nw_x22 order by n;
-- ordered
select n from nw_x2 where n > 1 order by n;
create table nw_x3 (n numeric(10,2)) partition by range (n);
create table nw_x31 partition of nw_x3 for values from (0) to (100);
create table nw_x32 partition of nw_x3 for values from (100) to (maxvalue);
insert into nw_x3 values (5), (500);
insert into nw_x3 values ('NaN'), (6);
-- ordered
select n from nw_x32 order by n;
-- ordered
select n from nw_x31 order by n;
select n from nw_x3 where n = 'NaN';
-- ordered
select n from nw_x3 where n < 10 order by n;
update nw_x3 set n = 1 where n = 'NaN';
-- ordered
select n from nw_x31 order by n;
create table nw_x33 partition of nw_x3 for values from (-10) to (0);
-- error 22003
insert into nw_x3 values (-5), ('-inf');
insert into nw_x3 values (-5);
select n from nw_x33;
-- decimals that a column of 128 bits would round
create table nw_lost (t text, f float8, n numeric);
insert into nw_lost values ('1234567890123456789012345678901234.5', 1.23456789012345e-8, 1e-30);
select t::numeric, f::numeric, n, to_number(t, '9999999999999999999999999999999999.9') from nw_lost;
create table nw_product (a numeric(20,12), n numeric);
insert into nw_product values (1.123456789012, 2.5);
update nw_product set n = a * a;
select n from nw_product;
select cast('{1.5,NaN}'::float8[] as numeric(8,3)[]), cast('{Infinity,-0}'::float8[] as numeric[]);
select to_char('-inf'::numeric, '99999999999.99'), to_char('NaN'::numeric, '9.9'), to_number('-1234567890123456789012345678901234.5', 'S9999999999999999999999999999999999.9');

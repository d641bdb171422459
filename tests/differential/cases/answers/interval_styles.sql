-- IntervalStyle: the forms of intervals in results, texts, arrays, rows, JSON and messages.
-- setup
create schema answers_interval_styles;
set search_path = answers_interval_styles;
create table i(a int, v interval);
insert into i values (1, '1 year 2 mons -3 days 04:05:06.789'), (2, '0'), (3, '-1 sec'), (4, '1 day -1 hours'), (5, '-1 year -2 mons 3 days'), (6, '1 sec'), (7, '0.5 sec'), (8, '-1.5 min'), (9, null), (10, '100 hours 1 min'), (11, '-1 mon'), (12, '-4 days -00:00:00.000001'), (13, '1 mon -1 sec'), (14, '-2 days 1.25 sec');
-- cases
set intervalstyle = iso_8601;
show intervalstyle;
-- ordered
select a, v, -v from i order by a;
-- ordered
select a, v::text, array[v, v * 2], row(v), format('%s', v), to_json(v), jsonb_build_array(v), v || '', array[v]::text from i order by a;
select string_agg(v::text, ',' order by a), array_agg(v order by a)::text, max(v), sum(v) from i where v > '0';
select a from i where v = 'P1DT-1H' or v::text = 'PT1S' order by a;
select interval 'P1Y2M3DT4H5M6S', '{P1D,PT2H}'::interval[], now() - now();
set intervalstyle = 'Postgres_Verbose';
-- ordered
select a, v, -v from i order by a;
-- ordered
select a, v::text, array[v, v * 2], row(v), format('%s', v), to_json(v), v || '' from i order by a;
begin;
set local intervalstyle = 'iso_8601';
select v from i where a = 1;
rollback;
select v from i where a = 1;
select interval '@ 1 year 2 mons ago';
reset intervalstyle;
select v, v::text from i where a = 1;
-- error 22023
set intervalstyle = nope;
set intervalstyle = sql_standard;
select interval '1-2', interval '-1-2', interval '3 4:05:06', interval '-1 1:00:00', interval '0', interval '1 year 1 day';
select interval '1-2 -3', interval '+1-2 -3 +4:05:06.7', interval '1 day -1 hour', interval '-1 day 1 hour', interval '-1 year 2 mons';
select v, v::text, array[v], row(v), to_json(v) from i;
select x, x::interval from (values ('-1 1:00:00'), ('-1 +1:00:00'), ('-1-2 3'), ('-1 day ago'), ('-1 mon 2 days'), ('-1 decade 2 years'), ('-0:00:01'), ('-1.5 years 2 mons')) t(x);
select interval '-1 day 2 hours' day to hour, '-P1Y2M'::text, interval 'P-1Y2M';
select interval '4 mins 3.5 secs', interval '-4 days', interval '100 hours', interval '-0.25 sec';
reset intervalstyle;
select interval '-1 1:00:00';

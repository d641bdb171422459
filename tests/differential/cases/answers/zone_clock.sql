-- Months and days added to a timestamptz move on the clock of its zone: repeated and missing hours, and series of steps.
-- setup
create schema answers_zone_clock;
set search_path = answers_zone_clock;
-- cases
set timezone = 'America/Los_Angeles';
create table l(a timestamp); 
insert into l values ('2023-11-05 01:40'), ('2023-03-12 02:40'), ('2023-11-05 00:59:59.999999'), ('2023-11-05 01:00'),('2023-11-05 02:00'),('2023-03-12 02:00'), ('2023-03-12 03:00');
select a, a::timestamptz from l;
select a, a at time zone 'America/Los_Angeles', a at time zone 'Europe/Dublin', a at time zone 'Australia/Lord_Howe' from l;
select date_trunc('hour', a::timestamptz), date_trunc('day', a::timestamptz) from l;
select date_trunc('hour', a::timestamptz + interval '-1 hour') from l;
set timezone = 'Europe/Dublin';
select '2023-10-29 01:40'::timestamp::timestamptz, '2023-10-29 01:40'::timestamptz, timestamptz '2023-10-28 01:40' + interval '1 day';
set timezone = 'Australia/Lord_Howe';
select '2023-04-02 01:40'::timestamp::timestamptz, '2023-04-02 01:40'::timestamptz, timestamptz '2023-04-01 01:40' + interval '1 day';
select timestamptz '2023-09-30 02:10' + interval '1 day';
set timezone = 'Africa/Casablanca';
select timestamptz '2023-03-18 02:30' + interval '1 day', timestamptz '2023-04-22 02:30' + interval '1 day';
set timezone = 'America/Los_Angeles';
create table tz (t timestamptz, i interval);
insert into tz values ('2023-11-04 01:40-07', '1 day'), ('2023-11-04 01:40-07', '1 day 1 hour'), ('2023-11-06 01:40-08', '-1 day'), ('2023-10-05 01:40-07', '1 month'), ('2023-11-05 01:40-07', '1 hour'), ('2023-11-05 01:40-07', '0'), ('2023-02-11 02:40-08', '1 month 1 day'), ('infinity', '1 day'), ('infinity', '1 month 1 hour'), ('2023-11-05 01:40-07', '1 month -30 days'), (null, '1 day'), ('2023-10-05 01:40-07', null);
select t, i, t + i, t - i, i + t, date_add(t, i), date_subtract(t, i) from tz;
select t, t + interval '1 day', t - interval '1 day', t + interval '1 mon', t + interval '1 month 1 day', t + interval '0', t + interval '25 hours', t + interval '1 day 1 hour', t - interval '1 day 25 hours', t + interval '2 hours' from tz;
select t, date_add(t, i, 'America/Los_Angeles'), date_add(t, i, 'Europe/Berlin'), date_subtract(t, i, 'America/New_York') from tz;
select g from generate_series(timestamptz '2023-11-04 01:40-07', '2023-11-07', interval '1 day') g;
select g from generate_series(timestamptz '2023-03-10 02:40-08', '2023-03-15', interval '1 day') g;
select g from generate_series(timestamptz '2023-11-07 01:40', '2023-11-03', interval '-1 day') g;
select g from generate_series(timestamptz '2023-08-31 01:40', '2024-11-03', interval '1 month') g;
select g from generate_series(timestamptz '2023-08-31 01:40', '2024-11-03', interval '1 month 1 day 30 hours') g;
select g from generate_series(timestamptz '2023-11-04 01:40-07', '2023-11-07', interval '1 day', 'America/New_York') g;
select g from generate_series(timestamptz '2023-11-04 01:40-07', '2023-11-07', interval '1 day', 'UTC') g;
select g from generate_series(timestamptz '2023-11-04 00:40-07', '2023-11-07', interval '1 day', 'America/New_York') g;
select g from generate_series(timestamptz '2023-11-04 00:40-07', '2023-11-07', interval '1 day 2 hours', 'America/New_York') g;
-- error 22023
select g from generate_series(timestamptz '2023-11-04 00:40-07', '2023-11-07', interval '1 day 2 hours', 'nope') g;
-- error 22023
select g from generate_series(timestamptz '2023-11-04 00:40-07', '2023-11-07', interval '0') g;
select g from generate_series(null, timestamptz '2023-11-07', interval '1 day') g;
select i, g from tz, generate_series(timestamptz '2023-11-04 01:40', '2023-11-06', i) g where i > '1 hour' and i < '10 days';
select g from generate_series(timestamp '2021-01-01', timestamp '2020-10-01', interval '1 month -60 days') g;
select g from generate_series(timestamp '2021-01-01', timestamp '2021-10-01', interval '1 month -10 days') g;
select g from generate_series(date '2021-01-01', date '2021-10-01', interval '1 month -10 days') g;
-- error 22023
select g from generate_series(timestamp '2021-01-01', timestamp '2021-10-01', interval '1 month -30 days') g;
select generate_series(timestamptz '2023-11-04 01:40-07', '2023-11-07', interval '1 day');
select g from generate_series(timestamptz '2023-11-04 01:40-07', '2023-11-07', interval '1 day', '+05') g;
select g from generate_series(timestamptz '2023-11-04 01:40-07', '2023-11-07', interval '1 day', 'EST') g;
select g from generate_series(timestamptz '2023-11-04 01:40-07', '2023-11-07', interval '1 day', 'pst') g;
set timezone = '-8';
select g from generate_series(timestamptz '2023-11-04 01:40-07', '2023-11-07', interval '1 day') g;
select t, t + i, t + interval '1 day', t + interval '1 month 2 days' from tz;
set timezone = 'UTC';
select g from generate_series(timestamptz '2023-11-04 01:40-07', '2023-11-07', interval '1 day') g;
set timezone = 'EST5EDT';
select g from generate_series(timestamptz '2023-11-04 01:40-07', '2023-11-07', interval '1 day') g;

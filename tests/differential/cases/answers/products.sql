-- Products of many digits: exact, or 22003; what has no room for zeros at the end does not show them.
-- setup
create schema answers_products;
set search_path = answers_products;
-- setup
create table nn(a numeric(38,18), b numeric(38,18), c numeric(30,20), d numeric(20,10), e numeric);
insert into nn values (1.123456789012345678, 2.987654321098765432, 3.12345678901234567890, 4.1234567891, 5.123456789012345678), (1.5, 2.5, 1, 1, 1);
create table cr(amount numeric(38,18), price numeric(38,18), fee numeric(20,6), q numeric);
insert into cr values (1000.5, 0.0003, 1.25, 3.75), (12345678.000000000000000001, 1, 1, 1);
-- cases
select sum(a * b) from nn;
select a * b, d * d * d from nn;
select sum(e * e), e * e from nn group by e;
select sum(a * b + 1), sum(a * b - a), max(a * b), min(a * b) from nn;
select sum(a * b) over (), sum(a*a) over (order by a) from nn;
select (a * b)::text, (a * b) = 3.356504480339887208 from nn;
select sum(x) from (select a * b as x from nn) s;
select sum(distinct a * b), count(distinct a * b) from nn;
select array_agg(a * b order by a) from nn;
select a * b / 3 from nn;
select round(a * b, 30), trunc(a * b, 35), abs(a * b), -(a * b) from nn;
select avg(a * b) from nn;
select sum(a * b) filter (where a > 1) from nn;
select sum(a * b), a * b from nn group by a * b;
select amount * fee, sum(amount * fee) over () from cr;
select amount * q, q * q from cr;
select round(amount * price, 2), (amount * price)::numeric(20,4) from cr;
select 1.0 * amount * 2, amount * 0.5, amount * 100, amount * 1e-3 from cr;
select sum(d * d * d * d) from nn;
select a * b * c from nn;
-- differs: zeros at the end are not shown where there is no room for them
select amount * price from cr;

-- Trigonometric functions of degrees agree to the last digit, and their zeros have PostgreSQL's signs.
-- The comparison allows 1e-9 for floats, so that the digits are compared as text.
-- setup
create schema answers_degrees;
set search_path = answers_degrees;
-- setup
create table d(x float8);
insert into d select g::float8 from generate_series(-720, 720, 15) g;
insert into d values (0), ('-0'), (0.1), (-0.3), (33.3), (44.999), (89.9999), (123.456), (-271.5), (1e10), ('nan'), (null);
create table u(x float8);
insert into u select g / 100.0 from generate_series(-100, 100) g;
insert into u values ('-0'), ('nan'), (null), (0.1234567), (0.3333333333333333), (-0.7071067811865476);
-- cases
-- ordered
select x, sind(x)::text, cosd(x)::text from d order by x, x::text;
-- ordered
select x, tand(x)::text, cotd(x)::text from d order by x, x::text;
-- ordered
select x, asind(x)::text, acosd(x)::text, atand(x)::text, atan2d(x, 0.3)::text, atan2d(1, x)::text from u order by x, x::text;
select acosd(0.3)::text, cotd(-90)::text, cotd(270)::text, atand('infinity')::text;
-- error 22003
select acosd(1.0001);
-- error 22003
select cotd('infinity');

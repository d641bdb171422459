-- Sets in INSERT … VALUES and of functions in a select list.
-- setup
create schema answers_sets;
set search_path = answers_sets;
create table ig(a int, b bigint, c text default 'd', primary key (a, b));
create function two() returns setof int language sql as 'values (10), (20)';
-- cases
insert into ig values (generate_series(1, 3), 7);
insert into ig values (generate_series(1, 3), generate_series(50, 52), 'x') returning *;
insert into ig(b, a) values (unnest(array[1, 2]), 100 + generate_series(1, 2));
insert into ig(a, b) values (two(), (select count(*) from generate_series(1, 4)));
insert into ig(a, b, c) values ('77', '7', upper('z' || generate_series(1, 1)));
insert into ig(a, b) values (generate_series(1, 3), 7) on conflict do nothing;
-- error 0A000
insert into ig values (generate_series(1, 3), 7), (2, 3);
-- error 42804
insert into ig(a, b) values (generate_series(timestamp '2020-01-01', '2020-01-02', '1 day'), 1);
-- error 42601
insert into ig(a) values (generate_series(1, 3), 7);
-- error 0A000
values (generate_series(1, 3));
select * from ig order by a, b;

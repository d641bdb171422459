-- Arrays that are read from texts have any dimensions; subscripts of another number find nothing.
-- setup
create schema answers_arrays_from_text;
set search_path = answers_arrays_from_text;
-- setup
create table ta(a text, v varchar(40));
insert into ta values ('{{1},{2}}', '{{1},{2}}'), ('{3,4}', '{3,4}'), ('{{{7}}}', '{{{7}}}'), ('{}', '{}'), (null, null);
-- cases
select (a::int[])[2][1] from (values ('{{1},{2}}')) t(a);
select (a::int[][])[2][1] from (values ('{{1},{2}}')) t(a);
select (a::int[])[2][1], (v::bigint[])[2][1], (a::text[])[1][1], (a::numeric[])[2][1] from ta;
select (a::int[])[2], (a::int[])[1][1][1], (v::float8[])[1] from ta;
select (a::int[][])[2], (a::int[][])[2][1], (a::int[][])[1][1][1] from ta;
select (a::date[])[1][2] from (values ('{{2020-01-01,2020-01-02}}'), ('{2020-01-01}')) t(a);
select (a::bool[])[2][2] from (values ('{{t,f},{f,t}}'), ('{}')) t(a);
select a::int[][] from ta where a like '{{_},%';
select sum((a::int[])[1]) from ta;
select a from ta where (a::int[])[2][1] = 2;
-- error 22P02
select (a::int[])[1][1] from (values ('{1,2')) t(a);
-- error 22P02
select (a::int[])[1][1] from (values ('{{x}}')) t(a);

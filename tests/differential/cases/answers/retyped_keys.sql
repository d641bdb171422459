-- ALTER COLUMN … TYPE of columns of primary, unique and foreign keys: rows are checked by the new values.
-- setup
create schema answers_retyped_keys;
set search_path = answers_retyped_keys;
-- cases
create table m1(k varchar(50) primary key);
create table m2(k varchar(50) references m1);
insert into m1 values ('a'), ('b');
insert into m2 values ('a');
alter table m2 alter k type varchar(255);
alter table m1 alter k type varchar(255);
alter table m1 alter k type text;
insert into m1 values (repeat('x', 100));
-- error 23503
insert into m2 values ('zz');
-- error 23505
insert into m1 values ('a');
-- error 23503
delete from m1 where k = 'a';
-- error 42804
alter table m1 alter k type int using 5;
-- error 23503
alter table m2 alter k type text using k || 'q';
select * from m2;
alter table m2 alter k type text using 'b';
-- error 23503
alter table m1 alter k type text using k || 'q';
-- error 23503
delete from m1 where k = 'b';
delete from m1 where k = 'a';
create table n1(a int, b int, primary key (a, b), unique (b));
create table n2(x int, y int, foreign key (x, y) references n1 on delete cascade, z int references n1(b));
insert into n1 values (1, 2), (3, 4);
insert into n2 values (1, 2, 4), (null, 2, null);
alter table n1 alter a type bigint, alter b type bigint;
-- error 42804
alter table n2 alter x type numeric, alter y type bigint, alter z type smallint;
alter table n2 alter x type bigint, alter y type bigint, alter z type smallint;
-- error 42804
create table n3(x numeric references n1(b));
create table n3(x smallint references n1(b), y int[]);
insert into n1 values (5000000000, 6);
insert into n2 values (5000000000, 6, 2);
-- error 23503
insert into n2 values (5000000000, 7, 2);
-- error 22003
alter table n1 alter a type int;
-- error 42804
alter table n1 alter b type text;
-- error 23503
update n1 set b = 9 where b = 4;
delete from n2 where z = 4;
delete from n1 where a = 3;
select * from n1 order by a;
select x, y, z from n2 order by x;
create table s(id int primary key, parent int references s);
insert into s values (1, null), (2, 1);
alter table s alter id type bigint;
alter table s alter parent type bigint;
-- error 23503
insert into s values (3, 9);
create table m3(a int primary key, b int unique);
insert into m3 values (1, 2), (2, 3);
alter table m3 alter a type bigint;
alter table m3 alter b type text;
-- error 23505
alter table m3 alter b type int using 1;
select * from m3 order by a;

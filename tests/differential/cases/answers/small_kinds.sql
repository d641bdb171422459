-- Smaller kinds: JSON in bytes, collated literals, names that are no types, indexes that are no tables.
-- setup
create schema answers_small_kinds;
set search_path = answers_small_kinds;
create table m(k varchar(50) primary key, v int unique, b bytea);
insert into m values ('a', 1, '\x7b7d'), ('b', 2, '\x7b'), ('c', 3, null), ('d', 4, '\x223122');
create index m_by_v on m(v, k);
-- cases
select k, b is json, b is json object, b is json array, b is json scalar, b is not json from m;
select '\x7b7d'::bytea is json, '\x7b'::bytea is json, '\x7b7d'::bytea is json object, '\x31'::bytea is json array;
-- error 22021
select '\xff'::bytea is json;
select '\x7b2261223a312c2261223a327d'::bytea is json with unique keys;
select '1' collate "C" > 2, 1 > '1' collate "C", '1' collate "C" > '2', 'a' collate "C" || 'b', pg_typeof('a' collate "C");
select k collate "C" from m order by k collate "C" desc limit 1;
select coalesce(null collate "C", 'x'), 'x' collate "C" in ('x', 'y'), length('abc' collate "C");
-- error 42804
select 1 collate "C";
-- error 42804
select v collate "C" from m;
-- error 42704
create table st(a string);
-- error 42704
select 'a'::string;
-- error 42809
select * from m_pkey;
-- error 42809
select * from m_v_key;
-- error 42809
select * from answers_small_kinds.m_by_v;
-- error 42809
insert into m_pkey values (1);
-- error 42809
delete from m_by_v;
-- error 42P01
select * from m_nothing;

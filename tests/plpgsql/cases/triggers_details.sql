create table log (id serial, what text)
---
create table item (id int primary key, price int, half int generated always as (price / 2) stored, next int generated always as (id + 1) stored)
---
create function twice() returns trigger language plpgsql as $$ begin insert into log (what) values ('first ' || new.id); insert into log (what) values ('second ' || new.id); return new; end $$
---
create trigger twice after insert on item for each row execute function twice()
---
insert into item select g, g from generate_series(1, 6) g
---
select id, what from log order by id
---
drop trigger twice on item
---
create function tell() returns trigger language plpgsql as $$ begin raise notice '% % % %', tg_name, tg_when, old, new; return new; end $$
---
create trigger half after update of half on item for each row execute function tell()
---
create trigger next before update of next on item execute function tell()
---
update item set price = 20 where id = 1
---
update item set id = 10 where id = 1
---
insert into item values (10, 1) on conflict (id) do update set price = 30
---
merge into item using (values (10, 40)) v(i, p) on id = i when matched then update set price = p
---
create function sets() returns trigger language plpgsql as $$ begin new.half := 1000; return new; end $$
---
create trigger a_sets before update on item for each row execute function sets()
---
create trigger b_tells before update on item for each row execute function tell()
---
update item set id = 11 where id = 10 returning *
---
drop table item
---
create table item (id int)
---
create function changes_table() returns trigger language plpgsql as $$ begin execute tg_argv[0]; return new; end $$
---
create trigger t before insert on item for each row execute function changes_table('truncate item')
---
insert into item values (1)
---
create or replace trigger t before insert on item for each row execute function changes_table('drop table item')
---
insert into item values (1)
---
create or replace trigger t after insert on item for each row execute function changes_table('alter table item add column x int')
---
insert into item values (1)
---
create or replace trigger t before insert on item execute function changes_table('create index on item (id)')
---
insert into item values (1)
---
create or replace trigger t before insert on item execute function changes_table('create table other (id int)')
---
insert into item values (1)
---
select * from item, other
---
drop trigger t on item
---
create function removes() returns trigger language plpgsql as $$ begin if pg_trigger_depth() = 1 then delete from item where id = old.id; end if; return old; end $$
---
create trigger removes before update or delete on item for each row execute function removes()
---
delete from item
---
update item set id = 2
---
select * from item
---
create type mood as enum ('a', 'b')
---
create type grade as enum ('a', 'b')
---
create table person (id int, mood mood, name text)
---
create trigger a before update of mood on person for each row execute function tell()
---
create trigger b before update on person for each row when (new.mood = 'a') execute function tell()
---
create trigger c before update on person for each row when (new.name = 'a'::grade::text) execute function tell()
---
drop type grade
---
drop type grade cascade
---
drop type mood
---
drop type mood cascade
---
insert into person values (1, 'a')
---
update person set name = 'b'
---
select tgname from pg_trigger where tgrelid = 'person'::regclass

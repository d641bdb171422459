create table item (id int primary key, name varchar(5) not null, price numeric(8,2) default 1, tags text[], made date, total numeric generated always as (price * 2) stored)
---
create function tidy() returns trigger language plpgsql as $$
begin
    if new.name is null then new.name := 'none'; end if;
    if new.price < 0 then return null; end if;
    new.name := upper(new.name);
    new.price := new.price + 0.125;
    new.tags := new.tags || tg_op;
    return new;
end $$
---
create trigger tidy before insert or update of name, price on item for each row execute function tidy()
---
insert into item (id, name, price) values (1, 'a', 1), (2, null, 2), (3, 'c', -1) returning *
---
select * from item order by id
---
update item set name = name || 'x' where id = 1 returning id, name, price, tags, total
---
update item set made = '2024-01-02' returning id, name, made, tags
---
update item set price = -5 where id = 2
---
update item set name = 'too' || name || 'long' where id = 2
---
insert into item (id, name) values (1, 'dup')
---
insert into item (id, name) values (1, 'dup') on conflict do nothing
---
insert into item (id, name, price) values (1, 'dup', 3), (4, 'new', 4) on conflict (id) do update set price = excluded.price, name = 'u' || item.name returning *
---
merge into item using (values (1, 'm', -1), (2, 'n', 9), (5, 'o', 5), (6, 'p', -6)) s(id, name, price) on item.id = s.id when matched and s.id = 1 then delete when matched then update set price = s.price when not matched then insert (id, name, price) values (s.id, s.name, s.price)
---
select * from item order by id
---
with gone as (delete from item where id = 2 returning *), more as (insert into item (id, name) select id + 10, 'w' from gone returning *) select * from more
---
select id, name, price, tags from item order by id
---
create function guard() returns trigger language plpgsql as $$
begin
    if old.id = 4 then raise exception 'row % stays', old.id using errcode = 'P0444', hint = 'ask'; end if;
    if old.id = 5 then return null; end if;
    return old;
end $$
---
create trigger guard before delete on item for each row execute function guard()
---
delete from item where id = 4
---
delete from item where id >= 5 returning id
---
select id from item order by id
---
create function copies() returns trigger language plpgsql as $$
declare r item%rowtype;
begin
    r := new;
    r.id := new.id + 100;
    return r;
end $$
---
create trigger zcopies before insert on item for each row execute function copies()
---
insert into item (id, name) values (7, 'z') returning id, name
---
create or replace function copies() returns trigger language plpgsql as $$ begin select 300, upper(new.name), 5, '{}', null, null into new.id, new.name, new.price, new.tags, new.made, new.total; return new; end $$
---
insert into item (id, name) values (8, 'z') returning id, name, tags, total
---
create or replace function copies() returns trigger language plpgsql as $$ begin return 1; end $$
---
create or replace function copies() returns trigger language plpgsql as $$ begin return row(1, 2); end $$
---
insert into item (id, name) values (9, 'z')
---
create or replace function copies() returns trigger language plpgsql as $$ begin null; end $$
---
insert into item (id, name) values (9, 'z')
---
create or replace function copies() returns trigger language plpgsql as $$ begin return; end $$
---
create or replace function copies() returns trigger language plpgsql as $$ begin new.nix := 1; return new; end $$
---
create or replace function copies() returns trigger language plpgsql as $$ begin if new.nix then return new; end if; return new; end $$
---
insert into item (id, name) values (9, 'z')
---
create or replace function copies() returns trigger language plpgsql as $$ declare n int; begin n := 1 / (new.id - 9); return new; exception when division_by_zero then new.id := 99; return new; end $$
---
insert into item (id, name) values (9, 'z'), (10, 'y') returning id
---
drop trigger zcopies on item
---
create table log (n serial, what text)
---
create function deep() returns trigger language plpgsql as $$
begin
    insert into log (what) values (tg_table_name || pg_trigger_depth() || tg_argv[0] || coalesce(tg_argv[1], '-'));
    if new.id < 25 and pg_trigger_depth() < 4 then insert into item (id, name) values (new.id + 1, 'n'); end if;
    return null;
end $$
---
create trigger deep after insert on item for each row when (new.id > 20) execute function deep('x', 'y')
---
insert into item (id, name) values (19, 'a'), (21, 'b')
---
select what from log order by n
---
select id from item where id > 15 order by id
---
select pg_trigger_depth()
---
create function endless() returns trigger language plpgsql as $$ begin insert into item (id, name) values (new.id + 1, 'n'); return null; end $$
---
create trigger endless after insert on item for each row when (new.id > 1000) execute function endless()
---
do $$ begin insert into item (id, name) values (1001, 'n'); exception when statement_too_complex then raise notice 'too deep'; end $$
---
drop trigger endless on item
---
drop trigger deep on item
---
create function whens() returns trigger language plpgsql as $$ begin raise notice '% % %', tg_name, old.price, new.price; return new; end $$
---
create trigger w1 after update on item for each row when (old.* is distinct from new.*) execute function whens()
---
create trigger w2 after update on item for each row when (new.price > old.price and new.id > 1) execute function whens()
---
create trigger w0 before update of price on item for each row when (old.price is distinct from new.price) execute function whens()
---
update item set price = price where id = 4
---
update item set price = price + 1 where id = 4
---
alter table item rename column price to cost
---
alter table item drop column cost
---
select tgname, pg_get_triggerdef(oid), pg_get_triggerdef(oid, true), tgenabled, tgtype, tgattr, tgnargs, encode(tgargs, 'escape'), tgisinternal, tgqual is null, tgoldtable, tgnewtable, tgdeferrable from pg_trigger where tgrelid = 'item'::regclass order by 1
---
select trigger_name, event_manipulation, event_object_table, action_order, action_condition, action_statement, action_orientation, action_timing, action_reference_old_table from information_schema.triggers where event_object_table = 'item' order by 1, 2
---
select trigger_name, event_object_table, event_object_column from information_schema.triggered_update_columns order by 1, 3

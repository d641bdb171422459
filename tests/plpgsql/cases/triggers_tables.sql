create table sale (id int primary key, shop text, amount int)
---
create table total (shop text primary key, amount bigint)
---
create function sums() returns trigger language plpgsql as $$
declare n int;
begin
    if tg_op = 'INSERT' then
        insert into total as t select shop, sum(amount) from added group by shop on conflict (shop) do update set amount = t.amount + excluded.amount;
        select count(*) into n from added;
    elsif tg_op = 'DELETE' then
        update total set amount = total.amount - g.amount from (select shop, sum(amount) as amount from gone group by shop) g where g.shop = total.shop;
        select count(*) into n from gone;
    else
        select count(*) into n from added a join gone g using (id) where a.amount <> g.amount;
    end if;
    raise notice '% %', tg_op, n;
    return null;
end $$
---
create trigger s1 after insert on sale referencing new table as added for each statement execute function sums()
---
create trigger s2 after delete on sale referencing old table as gone execute function sums()
---
create trigger s3 after update on sale referencing old table as gone new table as added execute function sums()
---
insert into sale select g, 'shop' || g % 2, g from generate_series(1, 10) g
---
select * from total order by shop
---
update sale set amount = amount + 1 where id > 7
---
delete from sale where id < 5
---
select * from total order by shop
---
insert into sale values (20, 'x', 1) on conflict (id) do update set amount = 0
---
insert into sale values (20, 'x', 1), (21, 'y', 2) on conflict (id) do update set amount = 0
---
insert into sale select 1, 'a', 1 where false
---
merge into sale using (values (20), (22)) v(id) on sale.id = v.id when matched then delete when not matched then insert values (v.id, 'm', 3)
---
create function per_row() returns trigger language plpgsql as $$ declare n int; begin select count(*) into n from added; raise notice '% of %', new.id, n; return new; end $$
---
create trigger r1 after insert on sale referencing new table as added for each row execute function per_row()
---
insert into sale values (31, 'r', 1), (32, 'r', 2)
---
select * from added
---
create view cheap as select id, shop, amount * 2 as twice from sale where amount < 5
---
create function change_cheap() returns trigger language plpgsql as $$
begin
    raise notice '% % %', tg_op, old, new;
    if tg_op = 'DELETE' then delete from sale where id = old.id; return old; end if;
    if new.twice < 0 then return null; end if;
    if tg_op = 'INSERT' then insert into sale values (new.id, new.shop, new.twice / 2); new.shop := new.shop || '!'; return new; end if;
    update sale set id = new.id, shop = new.shop, amount = new.twice / 2 where id = old.id;
    return new;
end $$
---
insert into cheap values (41, 'v', 4)
---
create trigger v instead of insert or update or delete on cheap for each row execute function change_cheap()
---
insert into cheap values (41, 'v', 4), (42, 'v', -4), (43, 'v', 6) returning *
---
insert into cheap (id, twice) select 44, 8 returning id
---
update cheap set twice = twice + 2 where id > 40 returning id, shop, twice
---
update cheap set twice = -2 where id = 41
---
update cheap c set shop = v.b from (values (41, 'one'), (44, 'four')) v(a, b) where v.a = c.id returning v.b, c.id
---
delete from cheap where id = 43 returning *
---
delete from cheap using (values (41)) v(a) where v.a = cheap.id
---
select * from cheap order by id
---
create function st() returns trigger language plpgsql as $$ begin raise notice '% %', tg_when, tg_op; return null; end $$
---
create trigger vs before insert or update on cheap for each statement execute function st()
---
create trigger va after insert on cheap for each statement execute function st()
---
insert into cheap values (51, 'v', 2)
---
update cheap set twice = 2 where false
---
alter table cheap disable trigger va
---
insert into cheap values (52, 'v', 2)
---
select tgname, pg_get_triggerdef(oid) from pg_trigger where tgrelid in ('cheap'::regclass, 'sale'::regclass) order by 1
---
create or replace view cheap as select id, shop, amount * 3 as twice from sale where amount < 5
---
delete from cheap where id = 51
---
select is_updatable, is_insertable_into, is_trigger_updatable, is_trigger_deletable, is_trigger_insertable_into from information_schema.views where table_name = 'cheap'
---
create trigger bad before insert on cheap for each row execute function st()
---
create trigger bad after truncate on cheap for each statement execute function st()
---
create trigger bad instead of insert on sale for each row execute function st()
---
create trigger bad instead of insert on cheap for each statement execute function st()
---
create trigger bad instead of insert on cheap for each row when (true) execute function st()
---
create trigger bad instead of update of shop on cheap for each row execute function st()
---
create trigger bad after truncate on sale for each row execute function st()
---
create trigger bad before insert on sale referencing new table as n for each statement execute function st()
---
create trigger bad after insert or update on sale referencing new table as n for each statement execute function st()
---
create trigger bad after delete on sale referencing new table as n for each statement execute function st()
---
create trigger bad after insert on sale referencing old table as n for each statement execute function st()
---
create trigger bad after insert on sale referencing new table as n new table as m for each statement execute function st()
---
create trigger bad after update on sale referencing new table as n old table as n for each statement execute function st()
---
create trigger bad after update of shop on sale referencing new table as n for each statement execute function st()
---
create trigger bad after insert on sale referencing new row as n for each row execute function st()
---
create trigger bad after truncate on sale referencing new table as n for each statement execute function st()
---
create trigger bad after insert on cheap referencing new table as n for each statement execute function st()
---
create trigger bad after update of nix on sale for each row execute function st()
---
create trigger bad after update of shop, shop on sale for each row execute function st()
---
create trigger bad after insert on sale for each row when (old.id = 1) execute function st()
---
create trigger bad after delete on sale for each row when (new.id = 1) execute function st()
---
create trigger bad after update on sale for each statement when (new.id = 1) execute function st()
---
create trigger bad after update on sale for each row when (id = 1) execute function st()
---
create trigger bad after update on sale for each row when (new.nix = 1) execute function st()
---
create trigger bad after update on sale for each row when (new.id) execute function st()
---
create trigger bad after update on sale for each row when (new.id = (select 1)) execute function st()
---
create trigger bad after update on sale for each row when (sum(new.id) = 1) execute function st()
---
create trigger bad after update on nowhere for each row execute function st()
---
create trigger bad after update on sale for each row execute function nowhere()
---
create function no_trigger() returns int language sql as 'select 1'
---
create trigger bad after update on sale for each row execute function no_trigger()
---
create trigger s1 after update on sale for each row execute function st()
---
create or replace trigger s1 after update on sale for each row execute function st()
---
create trigger s4 after update on sale for each statement when (2 > 1) execute function st('a', b, 3, 4.5)
---
comment on trigger s4 on sale is 'fourth'
---
comment on trigger s9 on sale is 'ninth'
---
comment on trigger s4 on nowhere is 'ninth'
---
select tgname, obj_description(oid, 'pg_trigger'), pg_get_triggerdef(oid, true) from pg_trigger where tgrelid = 'sale'::regclass order by 1
---
update sale set amount = amount where id = 31
---
drop trigger s1 on sale cascade
---
create function wrong() returns trigger language sql as 'select 1'
---
create function wrong(a int) returns trigger language plpgsql as 'begin end'
---
select * from st()
---
create function wrong() returns trigger language plpgsql as $$ begin return next; end $$
---
drop function st()
---
drop function st() cascade
---
create table base (id int primary key, n int)
---
create table child (id int, base int references base on delete cascade on update cascade)
---
create function tell() returns trigger language plpgsql as $$ begin raise notice '% % % % %', tg_table_name, tg_when, tg_op, old, new; return coalesce(new, old); end $$
---
create trigger a before update or delete on child for each row execute function tell()
---
create trigger b after update or delete on child for each row execute function tell()
---
create trigger z after update or delete on base for each row execute function tell()
---
insert into base values (1, 1), (2, 2)
---
insert into child values (10, 1), (20, 2)
---
delete from base where id = 1
---
update base set id = 3 where id = 2
---
select * from child
---
create schema apart
---
create function apart.mark() returns trigger language plpgsql as $$ begin return new; end $$
---
create trigger m before insert on base for each row execute function apart.mark()
---
select pg_get_triggerdef(oid) from pg_trigger where tgname = 'm'
---
drop schema apart
---
drop schema apart cascade
---
select count(*) from pg_trigger where tgname = 'm'
---
set session_replication_role = replica
---
insert into base values (9, 9)
---
alter table base enable replica trigger z
---
delete from base where id = 9
---
reset session_replication_role
---
insert into base values (9, 9)
---
delete from base where id = 9
---
alter table base enable always trigger z
---
select tgname, tgenabled from pg_trigger where tgrelid = 'base'::regclass and not tgisinternal order by 1
---
create function errs() returns trigger language plpgsql as $$ begin insert into child values (new.id, 1000); return new; end $$
---
create trigger errs after insert on base for each row execute function errs()
---
insert into base values (50, 1)
---
create table child2 (like base including all)

create table stock (id int primary key, name varchar(8), held int, price numeric(8,2), made timestamp)
---
create table audit (n serial, what text not null, id int, was text, became text, price numeric(10,4), at timestamptz default now(), check (id < 900))
---
create table strange (id int unique)
---
create function keep() returns trigger language plpgsql as $$
begin
    if tg_op = 'DELETE' then
        insert into audit (what, id, was) values (tg_op, old.id, old::text);
        return old;
    elsif tg_op = 'UPDATE' then
        if new.held is distinct from old.held then
            insert into audit (what, id, was, became, price) values (tg_name || ' ' || tg_op, new.id, old.held, new.held, new.price / 3);
        elsif new.price > 5 then
            insert into audit (what, id, became) values ('dear', new.id, to_jsonb(new) ->> 'name');
            return new;
        else
            return null;
        end if;
        insert into audit (what, id) values (upper(tg_table_name), old.id + 100);
        return new;
    end if;
    insert into audit (what, id, became, price) values (tg_when, new.id, new.name, new.price);
    if new.held > 4 then return null; end if;
    insert into audit (what, id) values ('few', new.id);
    return null;
end $$
---
create trigger keep after insert or update or delete on stock for each row execute function keep()
---
insert into stock select g, 'n' || g, g, g * 1.25, '2024-01-01'::timestamp + g * interval '1 hour' from generate_series(1, 8) g
---
select what, id, was, became, price, at is null from audit order by id, what
---
delete from audit
---
update stock set held = held + id % 3, price = price + 1
---
select what, id, was, became, price from audit order by id, what
---
delete from audit
---
delete from stock where id > 3 returning id
---
select what, id, was, became from audit order by id, what
---
create table few (id int check (id < 900))
---
create or replace function keep() returns trigger language plpgsql as $$ begin insert into few values (new.id); return null; end $$
---
insert into stock select g, null, null, null from generate_series(897, 903) g
---
select count(*) from stock
---
truncate audit, stock
---
drop trigger keep on stock
---
create function shape() returns trigger language plpgsql as $$
begin
    if new.held < 0 then
        return null;
    end if;
    new.name := upper(new.name);
    new.held := new.held * 2;
    if new.held >= 10 then
        new.name := new.name || '+';
        new.price := new.held / 3;
    elsif new.name like '%3' then
        raise exception 'no threes: %', new.name;
    end if;
    new.held := new.held + length(new.name);
    new.made := now();
    return new;
end $$
---
create trigger shape before insert or update on stock for each row execute function shape()
---
insert into stock select g, 'n' || g, g, 1 from generate_series(-2, 2) g returning id, name, held, price, made = now()
---
insert into stock select g, 'n' || g, g, 1 from generate_series(3, 9) g
---
insert into stock select g, 'n' || g, g, 1 from generate_series(4, 9) g
---
select id, name, held, price from stock order by id
---
update stock set price = price + 1, held = held - 9 returning id, name, held, price
---
insert into stock select g, 'longer' || g, 9, 1 from generate_series(20, 25) g
---
insert into stock select g, 'long' || g, 9, 1 from generate_series(995, 1005) g
---
select count(*) from stock
---
insert into stock select g, 'c' || g, 2, 2 from generate_series(1, 5) g on conflict (id) do update set name = 'u', held = 1 returning id, name, held
---
create or replace function shape() returns trigger language plpgsql as $$
begin
    new.price := 1 / (new.held - 3);
    if new.held > 5 then new.price := null; end if;
    return new;
end $$
---
truncate stock
---
insert into stock (id, held) select g, g from generate_series(4, 9) g returning id, price
---
insert into stock (id, held) select g, g from generate_series(1, 6) g
---
create or replace function shape() returns trigger language plpgsql as $$
begin
    insert into strange values (new.id % 4);
    return new;
end $$
---
insert into stock (id, held) select g, g from generate_series(11, 14) g returning id, price
---
insert into stock (id, held) select g, g from generate_series(15, 20) g
---
select * from strange order by id
---
create or replace function shape() returns trigger language plpgsql as $$
begin
    if old.held is null then new.held := -1; else new.held := old.held; end if;
    return new;
end $$
---
insert into stock (id, held) select g, g from generate_series(15, 20) g returning held
---
update stock set held = 99 returning held
---
create or replace function shape() returns trigger language plpgsql as $$
begin
    if new.held > 0 then return new; end if;
end $$
---
insert into stock (id, held) select g, g from generate_series(30, 33) g returning held
---
insert into stock (id, held) select g, g - 40 from generate_series(40, 43) g returning held
---
drop trigger shape on stock
---
create function guard() returns trigger language plpgsql as $$
begin
    if old.id % 2 = 0 then return null; end if;
    return old;
end $$
---
create trigger guard before delete on stock for each row execute function guard()
---
delete from stock where id > 10 returning id
---
create function told() returns trigger language plpgsql as $$ begin insert into audit (what, id, became) values (coalesce(tg_argv[0], 'nothing'), tg_nargs, new::text); return null; end $$
---
create trigger told after insert on stock for each row when (new.id % 2 = 1) execute function told('arg')
---
truncate audit
---
insert into stock (id, name) select g, 'w' from generate_series(51, 62) g
---
select what, id, became from audit order by became
---
create view busy as select id, held from stock
---
create table parts (id int, stock int references stock)
---
create or replace function told() returns trigger language plpgsql as $$ begin insert into parts values (new.id, new.id); insert into parts (id) values (new.held); return new; end $$
---
insert into stock (id, name) select g, 'w' from generate_series(71, 78) g
---
select count(*), count(stock), count(id) from parts
---
create or replace function told() returns trigger language plpgsql as $$ begin insert into parts values (new.id, new.id + 1); return new; end $$
---
insert into stock (id, name) select g, 'w' from generate_series(81, 88) g
---
create or replace function told() returns trigger language plpgsql as $$ begin insert into parts values (new.id, (select max(id) from stock)); return new; end $$
---
insert into stock (id, name) select g, 'w' from generate_series(81, 88) g
---
select id, stock from parts where id > 80 order by id
---
drop trigger told on stock
---
truncate audit
---
create or replace function told() returns trigger language plpgsql as $$ begin insert into audit (what, id, became) values (tg_op || coalesce(old.name, '?') || coalesce(new.name, '!'), coalesce(new.id, old.id), (old is null)::text); return null; end $$
---
create trigger told after insert or update or delete on stock for each row execute function told()
---
insert into stock (id, name) select g, 'w' || g from generate_series(101, 108) g
---
create or replace function told() returns trigger language plpgsql as $$ begin insert into audit (what, id, became) values (tg_op || coalesce(old.name, '?') || coalesce(new.name, '!'), coalesce(new.id, old.id), (old.name is null)::text); return null; end $$
---
insert into stock (id, name) select g, 'w' || g from generate_series(111, 118) g
---
update stock set name = 'x' || id where id > 100
---
delete from stock where id > 104
---
select what, id, became from audit order by what, id

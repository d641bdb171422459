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

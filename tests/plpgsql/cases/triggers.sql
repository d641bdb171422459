create table account (id int primary key, held numeric(10,2), note text)
---
create table audit (line serial, op text, was text, became text, by text)
---
create function record_change() returns trigger language plpgsql as $$
begin
    insert into audit (op, was, became, by) values (tg_op, old::text, new::text, tg_name);
    return null;
end $$
---
create trigger keep after insert or update or delete on account for each row execute function record_change()
---
insert into account values (1, 10, 'a'), (2, 20.5, null)
---
update account set held = held + 1 where id = 1
---
delete from account where id = 2
---
select op, was, became, by from audit order by line
---
create function show() returns trigger language plpgsql as $$
begin
    raise notice '% % % % %.% % % %', tg_name, tg_when, tg_level, tg_op, tg_table_schema, tg_table_name, tg_relname, tg_nargs, array_to_string(tg_argv, $x$+$x$);
    raise notice 'old % new %', old, new;
    if tg_when = 'BEFORE' and tg_op = 'DELETE' then return old; end if;
    return new;
end $$
---
create table t (a int, b text default 'x', c int generated always as (a * 2) stored)
---
create trigger b1 before insert or update or delete on t for each row execute function show('one', 2, 'th''ree')
---
create trigger a1 before insert or update or delete on t for each row execute function show()
---
create trigger c1 after insert or update or delete on t for each row execute function show()
---
create trigger s1 before insert or update or delete or truncate on t for each statement execute function show()
---
create trigger s2 after insert or update or delete or truncate on t execute function show()
---
insert into t values (1), (2, 'two')
---
update t set b = b || '!' where a > 1
---
update t set b = null where a > 10
---
delete from t where a = 1 returning *
---
insert into t (a) select g from generate_series(5, 6) g returning a, b, c
---
truncate t
---
drop trigger b1 on t
---
drop trigger b1 on t
---
drop trigger if exists b1 on t
---
drop trigger if exists b1 on nowhere
---
drop trigger b1 on nowhere
---
alter trigger a1 on t rename to c1
---
alter trigger zz on t rename to c2
---
alter trigger a1 on t rename to z1
---
alter table t disable trigger c1
---
insert into t values (7)
---
alter table t disable trigger user
---
insert into t values (8)
---
alter table t enable trigger all
---
alter table t disable trigger nix
---
insert into t values (9)
---
drop function show()
---
drop table t
---
drop function show()

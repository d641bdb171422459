create table depth_a (id int not null primary key)
---
create table depth_b (id int not null primary key)
---
create table depth_c (id int not null primary key)
---
create function depth_a_tf() returns trigger language plpgsql as $$
begin
  raise notice '%: depth = %', tg_name, pg_trigger_depth();
  insert into depth_b values (new.id);
  raise notice '%: depth = %', tg_name, pg_trigger_depth();
  return new;
end $$
---
create trigger depth_a_tr before insert on depth_a for each row execute procedure depth_a_tf()
---
create function depth_b_tf() returns trigger language plpgsql as $$
begin
  raise notice '%: depth = %', tg_name, pg_trigger_depth();
  begin
    execute 'insert into depth_c values (' || new.id::text || ')';
  exception
    when sqlstate 'U9999' then
      raise notice 'SQLSTATE = U9999: depth = %', pg_trigger_depth();
  end;
  raise notice '%: depth = %', tg_name, pg_trigger_depth();
  if new.id = 1 then
    execute 'insert into depth_c values (' || new.id::text || ')';
  end if;
  return new;
end $$
---
create trigger depth_b_tr before insert on depth_b for each row execute procedure depth_b_tf()
---
create function depth_c_tf() returns trigger language plpgsql as $$
begin
  raise notice '%: depth = %', tg_name, pg_trigger_depth();
  if new.id = 1 then
    raise exception sqlstate 'U9999';
  end if;
  raise notice '%: depth = %', tg_name, pg_trigger_depth();
  return new;
end $$
---
create trigger depth_c_tr before insert on depth_c for each row execute procedure depth_c_tf()
---
select pg_trigger_depth()
---
insert into depth_a values (1)
---
select pg_trigger_depth()
---
insert into depth_a values (2)
---
create table parent (aid int not null primary key, val1 text, val2 text, val3 text, val4 text, bcnt int not null default 0)
---
create table child (bid int not null primary key, aid int not null, val1 text)
---
create function parent_upd_func() returns trigger language plpgsql as $$
begin
  if old.val1 <> new.val1 then
    new.val2 = new.val1;
    delete from child where child.aid = new.aid and child.val1 = new.val1;
  end if;
  return new;
end $$
---
create trigger parent_upd_trig before update on parent for each row execute procedure parent_upd_func()
---
create function child_ins_func() returns trigger language plpgsql as $$
begin
  update parent set bcnt = bcnt + 1 where aid = new.aid;
  return new;
end $$
---
create trigger child_ins_trig after insert on child for each row execute procedure child_ins_func()
---
create function child_del_func() returns trigger language plpgsql as $$
begin
  update parent set bcnt = bcnt - 1 where aid = old.aid;
  return old;
end $$
---
create trigger child_del_trig after delete on child for each row execute procedure child_del_func()
---
insert into parent values (1, 'a', 'a', 'a', 'a', 0)
---
insert into child values (10, 1, 'b')
---
select * from parent
---
select * from child
---
update parent set val1 = 'b' where aid = 1
---
select * from parent
---
select * from child
---
create table upsert (key int4 primary key, color text)
---
create function upsert_before_func() returns trigger language plpgsql as $$
begin
  if (TG_OP = 'UPDATE') then
    raise warning 'before update (old): %', old.*::text;
    raise warning 'before update (new): %', new.*::text;
  elsif (TG_OP = 'INSERT') then
    raise warning 'before insert (new): %', new.*::text;
    if new.key % 2 = 0 then
      new.key := new.key + 1;
      new.color := new.color || ' trig modified';
      raise warning 'before insert (new, modified): %', new.*::text;
    end if;
  end if;
  return new;
end $$
---
create trigger upsert_before_trig before insert or update on upsert for each row execute procedure upsert_before_func()
---
create function upsert_after_func() returns trigger language plpgsql as $$
begin
  if (TG_OP = 'UPDATE') then
    raise warning 'after update (old): %', old.*::text;
    raise warning 'after update (new): %', new.*::text;
  elsif (TG_OP = 'INSERT') then
    raise warning 'after insert (new): %', new.*::text;
  end if;
  return null;
end $$
---
create trigger upsert_after_trig after insert or update on upsert for each row execute procedure upsert_after_func()
---
insert into upsert values(1, 'black') on conflict (key) do update set color = 'updated ' || upsert.color
---
insert into upsert values(2, 'red') on conflict (key) do update set color = 'updated ' || upsert.color
---
insert into upsert values(3, 'orange') on conflict (key) do update set color = 'updated ' || upsert.color
---
insert into upsert values(4, 'green') on conflict (key) do update set color = 'updated ' || upsert.color
---
insert into upsert values(5, 'purple') on conflict (key) do update set color = 'updated ' || upsert.color
---
select * from upsert order by key
---
create table table1 (a int)
---
create table table2 (a text)
---
create function dump_insert() returns trigger language plpgsql as $$
begin
  raise notice 'trigger = %, new table = %', tg_name, (select string_agg(new_table::text, ', ' order by a) from new_table);
  return null;
end $$
---
create trigger table1_trig after insert on table1 referencing new table as new_table for each statement execute procedure dump_insert()
---
create trigger table2_trig after insert on table2 referencing new table as new_table for each statement execute procedure dump_insert()
---
with wcte as (insert into table1 values (42)) insert into table2 values ('hello world')
---
with wcte as (insert into table1 values (43)) insert into table1 values (44)
---
select * from table1 order by a
---
create table merge_target (a int primary key, b text)
---
create function dump_m() returns trigger language plpgsql as $$
begin
  raise notice 'trigger = %, op %', tg_name, tg_op;
  return null;
end $$
---
create trigger mi after insert on merge_target for each statement execute procedure dump_m()
---
create trigger mu after update on merge_target for each statement execute procedure dump_m()
---
create trigger md after delete on merge_target for each statement execute procedure dump_m()
---
create trigger bi before insert or update or delete on merge_target for each statement execute procedure dump_m()
---
merge into merge_target m using (select 1 as a, 'v1' as b union all select 2 as a, 'v2' as b) s on m.a = s.a when not matched then insert values (a, b)
---
merge into merge_target m using (select 1 as a, 'v1' as b union all select 3, 'v3') s on m.a = s.a when matched and m.a = 1 then update set b = m.b || '!' when matched then delete when not matched then insert values (s.a, s.b)
---
create table serializable_update_tab (id int, filler text, description text)
---
create function serializable_update_trig() returns trigger language plpgsql as $$
declare rec record;
begin
  new.description = 'updated in trigger';
  return new;
end $$
---
create trigger serializable_update_trig before update on serializable_update_tab for each row execute procedure serializable_update_trig()
---
insert into serializable_update_tab select a, repeat('xyzxz', 10), 'new' from generate_series(1, 50) a
---
update serializable_update_tab set description = 'no no', id = 1 where id = 1
---
select description from serializable_update_tab where id = 1
---
create table self_ref (a int primary key, b int references self_ref(a) on delete cascade)
---
create function trigger_nothing() returns trigger language plpgsql as $$ begin raise notice '% % %', tg_name, tg_level, tg_op; return null; end $$
---
create trigger self_r after delete on self_ref for each row execute function trigger_nothing()
---
create trigger self_s after delete on self_ref for each statement execute function trigger_nothing()
---
insert into self_ref values (1, null), (2, 1), (3, 2)
---
delete from self_ref where a = 1
---
create table "Q t" ("A b" int, "C" text)
---
create function q() returns trigger language plpgsql as $$ begin new."C" := tg_table_name || new."A b"; return new; end $$
---
create trigger "Q tr" before insert or update of "A b" on "Q t" for each row when (new."A b" > 1) execute function q('it''s')
---
insert into "Q t" values (1), (2)
---
select * from "Q t"
---
select pg_get_triggerdef(oid) from pg_trigger where tgname = 'Q tr'
---
create table many (a int)
---
create function rec_t() returns trigger language plpgsql as $$ declare r record; begin r := new; r.a := r.a * 10; new := r; return new; end $$
---
create trigger t before insert on many for each row execute function rec_t()
---
insert into many values (1), (2) returning *
---
create or replace function rec_t() returns trigger language plpgsql as $$ begin perform 1 from many where a = new.a * 10; if found then raise notice 'seen %', new.a; end if; return new; end $$
---
insert into many values (1), (7)
---
create function inner_rec(m many) returns int language sql as 'select m.a + 1'
---
create or replace function rec_t() returns trigger language plpgsql as $$ begin new.a := inner_rec(new); return new; end $$
---
insert into many values (600) returning a
---
alter table many add column b text
---
insert into many values (700, 'x') returning *
---
create or replace function rec_t() returns trigger language plpgsql as $$ begin raise notice '% %', row_to_json(new), to_jsonb(old); for r in 1..1 loop null; end loop; return new; end $$
---
insert into many values (800, 'x') returning *
---
create or replace function rec_t() returns trigger language plpgsql as $$ begin if new is distinct from old then raise notice 'differs'; end if; if old is null then raise notice 'old is null'; end if; if new.* is not null then raise notice 'new is not null'; end if; return new; end $$
---
insert into many values (900, 'x') returning *

---
drop function inner_rec(many)

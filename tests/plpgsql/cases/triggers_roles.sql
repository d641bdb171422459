drop role if exists trigger_user
---
create role trigger_user
---
create table p (a int)
---
create table log (who text, what int)
---
create function pf() returns trigger language plpgsql as $$ begin insert into log values (current_user, new.a); return new; end $$
---
revoke execute on function pf() from public
---
grant insert, select on p to trigger_user
---
set role trigger_user
---
create trigger x before insert on p for each row execute function pf()
---
reset role
---
grant trigger on p to trigger_user
---
set role trigger_user
---
create trigger x before insert on p for each row execute function pf()
---
reset role
---
grant execute on function pf() to trigger_user
---
set role trigger_user
---
create trigger x before insert on p for each row execute function pf()
---
insert into p values (1)
---
drop trigger x on p
---
alter trigger x on p rename to y
---
alter table p disable trigger x
---
comment on trigger x on p is 'c'
---
set session_replication_role = 'replica'
---
reset role
---
create or replace function pf() returns trigger language plpgsql security definer as $$ begin insert into log values (current_user, new.a); return new; end $$
---
revoke execute on function pf() from trigger_user
---
set role trigger_user
---
insert into p values (2)
---
select * from p
---
reset role
---
select * from log
---
drop table p, log
---
drop function pf()
---
drop role trigger_user

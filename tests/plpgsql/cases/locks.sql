create table account (id int, held int)
---
insert into account values (1, 10), (2, 20)
---
do $$ declare source int := 1; n int; begin perform 1 from account where id = source for update; raise notice '%', found; select held into n from account where id = source for update; raise notice '%', n; end $$
---
do $$ declare n int; begin select held into n from account order by id desc for update; raise notice '%', n; select held into strict n from account for update; end $$
---
do $$ declare r record; begin for r in select * from account order by id for share loop raise notice '%', r; end loop; for r in execute 'select * from account where id = $1 for update' using 2 loop raise notice '%', r; end loop; end $$
---
do $$ declare n int; begin with w as (update account set held = held + 1 returning held) select held into n from w order by held; raise notice '%', n; end $$
---
do $$ declare n int; begin execute 'select held from account where id = 1 for update' into n; raise notice '%', n; end $$
---
do $$ begin select * from account for update; end $$
---
do $$ begin perform 1 from account where id = 9 for update; raise notice '%', found; end $$
---
create function takes(which int, much int) returns int language plpgsql as $$ declare had int; begin select held into had from account where id = which for update; if had < much then raise exception 'only %', had; end if; update account set held = held - much where id = which; return had - much; end $$
---
select takes(1, 4)
---
select takes(1, 40)
---
select * from account order by id

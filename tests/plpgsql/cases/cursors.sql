do $$ declare c refcursor := 'inner_one'; o refcursor := 'outer_one'; n int; begin open o for select generate_series(1, 3); fetch o into n; begin open c for select 7; perform 1/0; exception when division_by_zero then raise notice '%', c; end; fetch o into n; raise notice '%', n; begin fetch c into n; exception when invalid_cursor_name then raise notice '% %', sqlstate, sqlerrm; end; open c for select 8; fetch c into n; raise notice '%', n; end $$
---
create table seen (a int)
---
begin
---
do $$ declare c refcursor := 'left_open'; begin insert into seen values (1); begin insert into seen values (2); open c for select a from seen; perform 1/0; exception when others then null; end; end $$
---
fetch all from left_open
---
rollback
---
do $$ declare c cursor for select generate_series(1, 3) as n; begin begin for r in c loop raise notice '%', r.n; perform 1/0; end loop; exception when division_by_zero then raise notice '% %', c, sqlstate; end; end $$
---
do $$ declare c cursor for select generate_series(1, 3) as n; begin for k in 1..2 loop begin for r in c loop raise notice '% %', k, r.n; perform 1/(r.n - 2); end loop; exception when division_by_zero then c := null; end; end loop; end $$
---
select name from pg_cursors

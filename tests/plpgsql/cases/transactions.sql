create table kept (a int)
---
create procedure commits() language plpgsql as $$ begin insert into kept values (1); commit; end $$
---
do $$ begin begin call commits(); perform 1/0; exception when others then raise notice '% %', sqlstate, sqlerrm; end; end $$
---
do $$ begin begin null; exception when others then null; end; call commits(); end $$
---
do $$ begin begin perform 1/0; exception when others then call commits(); end; end $$
---
do $$ begin begin execute 'call commits()'; exception when others then raise notice '% %', sqlstate, sqlerrm; end; end $$
---
do $$ begin execute 'call commits()'; end $$
---
do $$ begin begin do 'begin commit; end'; exception when others then raise notice '% %', sqlstate, sqlerrm; end; end $$
---
create procedure calls() language plpgsql as $$ begin call commits(); end $$
---
do $$ begin begin call calls(); exception when others then raise notice '% %', sqlstate, sqlerrm; end; call calls(); end $$
---
select * from kept
---
create table many (a int, filler text)
---
do $$ begin for i in 1..3 loop insert into many select a, repeat('x', 100) from generate_series(1, 5000) a; commit; end loop; end $$
---
create procedure empties(n int) language plpgsql as $$ begin delete from many where a >= n; commit; end $$
---
do $$ declare r record; n int := 0; begin for r in select a, filler from many loop if n = 0 then call empties(r.a); end if; n := n + 1; end loop; raise notice '%', n; end $$
---
do $$ declare r record; n int := 0; begin insert into many select a, 'y' from generate_series(1, 5000) a; commit; end $$
---
do $$ declare r record; n int := 0; begin for r in execute 'select a, filler from many' loop if n = 0 then do 'begin delete from many; commit; end'; end if; n := n + 1; end loop; raise notice '%', n; end $$

create function grows(out a int[]) returns setof int[] language plpgsql as $$ begin a := '{0}'; for i in 1..3 loop a[1] := i; return next; end loop; end $$
---
select * from grows()
---
create function grows_beside(out a int[], out n int) returns setof record language plpgsql as $$ begin n := 1; return next; a := '{1,2}'; for i in 1..3 loop a[2] := i; n := i; return next; end loop; end $$
---
select * from grows_beside()
---
create procedure changes(x int[]) language plpgsql as $$ begin x[1] := 9; raise notice '%', x; end $$
---
do $$ declare a int[] := '{1,2}'; begin a[2] := 3; call changes(a); raise notice '%', a; end $$
---
create procedure changes_its(inout x int[]) language plpgsql as $$ begin x[1] := 9; raise notice '%', x; end $$
---
do $$ declare a int[] := '{1,2}'; begin a[2] := 3; call changes_its(a); raise notice '%', a; end $$
---
do $$ declare a int[] := '{{1,2},{3,4}}'; b int[]; begin a[1][1] := 5; b := a; a[1][2] := 99; raise notice '% %', a, b; end $$
---
do $$ declare a int[] := '{{1,2},{3,4}}'; x int[]; begin a[1][1] := 5; foreach x slice 1 in array a loop x[1] := 7; raise notice '% %', x, a; end loop; end $$
---
create function reads(x int[]) returns int[] language plpgsql as $$ begin x[1] := 0; return x; end $$
---
do $$ declare a int[] := '{1,2}'; b int[]; begin a[1] := 5; b := reads(a); raise notice '% %', a, b; end $$
---
do $$ declare a int[] := '{1,2}'; begin a[1] := 5; execute 'do ''begin null; end'''; execute 'call changes($1)' using a; raise notice '%', a; end $$
---
do $$ declare a int[] := '{1,2}'; r record; begin a[1] := 5; r := row(a, 1); a[1] := 6; raise notice '% %', a, r; end $$

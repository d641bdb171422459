create function größe(Ärger int, "Öl" int) returns int language plpgsql as $$ declare ÜBER int := Ärger; straßE int; begin straße := ÜBER + "Öl"; if straßE > 3 then ÜBER := straße * 2; end if; return ÜBER; end $$
---
select größe(1, 2), größe(2, 3)
---
do $$ declare Größe int := 1; begin raise notice '%', grÖße; end $$
---
<<ÄUSSEN>> declare n int; begin null; end
---
do $$ <<ÄUßen>> declare n int := 1; begin declare n int := 2; begin raise notice '% %', n, ÄUßEN.n; end; end $$
---
do $$ declare "İ" int := 1; K int := 2; begin raise notice '% %', İ, k; end $$

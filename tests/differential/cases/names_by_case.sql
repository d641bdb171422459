-- Names that differ in the case of letters alone: columns, relations, attributes, and what writes them.
-- cases
CREATE TABLE nc ("a" integer, "A" integer UNIQUE, "A$2" text);
INSERT INTO nc VALUES (1, 2, 'x'), (3, 4, 'y');
SELECT "a", "A", "A$2" FROM nc ORDER BY "A";
SELECT * FROM nc ORDER BY 1;
SELECT "A" FROM nc WHERE "a" = 3;
SELECT sum("a"), sum("A") FROM nc;
SELECT "A", count(*) FROM nc GROUP BY "A" ORDER BY 1;
SELECT x."a", y."A" FROM nc x JOIN nc y ON x."a" + 1 = y."A" ORDER BY 1;
UPDATE nc SET "A" = 9 WHERE "a" = 1 RETURNING "a", "A";
SELECT * FROM nc ORDER BY 1;
-- error 23505
INSERT INTO nc VALUES (5, 9, 'd');
INSERT INTO nc VALUES (9, 5, 'd') RETURNING "A", "a";
INSERT INTO nc VALUES (3, 5, 'w') ON CONFLICT ("A") DO UPDATE SET "a" = nc."A" + excluded."a" RETURNING *;
DELETE FROM nc WHERE "A" = 9 RETURNING *;
SELECT * FROM nc x NATURAL JOIN nc y ORDER BY 1;
SELECT row_to_json(nc) FROM nc ORDER BY "a";
ALTER TABLE nc ALTER "A" SET NOT NULL;
-- error 23502
INSERT INTO nc VALUES (1, NULL, 'z');
ALTER TABLE nc ADD COLUMN "b" integer DEFAULT 7, ADD COLUMN "B" integer DEFAULT 8;
SELECT "a", "A", "b", "B" FROM nc ORDER BY 1;
CREATE TABLE nc_copy AS SELECT "A", "a" FROM nc;
SELECT * FROM nc_copy ORDER BY 1;
CREATE TABLE "NC" (z integer);
INSERT INTO "NC" VALUES (7);
SELECT "NC".z, nc."a" FROM "NC", nc ORDER BY 2;
WITH q AS (SELECT 1 AS v), "Q" AS (SELECT 2 AS v) SELECT q.v, "Q".v FROM q, "Q";
SELECT "X".v, x.v FROM (VALUES (1)) x(v), (VALUES (2)) "X"(v);
CREATE TYPE nc_pair AS ("p" integer, "P" integer);
CREATE TABLE nc_held (c nc_pair);
INSERT INTO nc_held VALUES (ROW(1, 2));
SELECT (c)."p", (c)."P", c FROM nc_held;
UPDATE nc_held SET c."P" = 5;
SELECT (c)."p", (c)."P" FROM nc_held;
CREATE TABLE nc_parts ("k" integer, "K" integer) PARTITION BY RANGE ("K");
CREATE TABLE nc_low PARTITION OF nc_parts FOR VALUES FROM (0) TO (10);
CREATE TABLE nc_high PARTITION OF nc_parts FOR VALUES FROM (10) TO (20);
INSERT INTO nc_parts VALUES (1, 15), (11, 5);
SELECT * FROM nc_parts WHERE "K" = 5;
SELECT * FROM nc_high;
CREATE VIEW nc_view AS SELECT "K" AS "v", "k" AS "V" FROM nc_parts;
SELECT "V", "v" FROM nc_view ORDER BY 1;
MERGE INTO nc_parts USING (SELECT 1 AS "K", 7 AS "k") s ON nc_parts."k" = s."K" WHEN MATCHED THEN UPDATE SET "k" = s."k";
SELECT "k", "K" FROM nc_parts ORDER BY 1;

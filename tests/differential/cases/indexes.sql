-- Indexes that are kept as declarations: expressions, conditions, operator classes, INCLUDE and storage parameters.
-- setup
CREATE TABLE ix_m (a integer PRIMARY KEY, b text, c jsonb);
INSERT INTO ix_m VALUES (1, 'x', '{}'), (2, 'y', '[]');
-- cases
CREATE INDEX ix_lower ON ix_m (lower(b));
CREATE INDEX ON ix_m (lower(b), a);
CREATE INDEX ON ix_m ((a + 1));
CREATE INDEX ix_part ON ix_m (a) WHERE a > 1 AND b IS NOT NULL;
CREATE INDEX ix_class ON ix_m (b text_pattern_ops);
CREATE INDEX ix_desc ON ix_m (b varchar_pattern_ops DESC);
CREATE INDEX ix_brin ON ix_m USING brin (a) WITH (pages_per_range = 4);
CREATE INDEX ix_more ON ix_m (a) INCLUDE (b);
CREATE INDEX ix_gin ON ix_m USING gin (c jsonb_path_ops);
CREATE INDEX ix_both ON ix_m (a) WITH (fillfactor = 70) WHERE a < 7;
-- ordered
SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'ix_m' ORDER BY 1;
-- ordered
SELECT c.relname, pg_get_indexdef(i.indexrelid, 1, true), pg_get_expr(indpred, indrelid), indnatts, indnkeyatts,
    indkey::text, pg_get_expr(indexprs, indrelid)
FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid WHERE indrelid = 'ix_m'::regclass ORDER BY 1;
-- ordered
SELECT relname, attname, attnum FROM pg_attribute JOIN pg_class ON oid = attrelid
WHERE relname LIKE 'ix\_%' AND relkind = 'i' ORDER BY 1, 3;
-- messages
-- error 42703
CREATE INDEX ix_no ON ix_m (zz);
-- error 42703
CREATE INDEX ix_no ON ix_m (lower(zz));
-- error 42703
CREATE INDEX ix_no ON ix_m (a) WHERE zz > 1;
-- error 42703
CREATE INDEX ix_no ON ix_m (a) INCLUDE (zz);
-- error 42804
CREATE INDEX ix_no ON ix_m (a) WHERE a;
-- cases
-- error 42803
CREATE INDEX ix_no ON ix_m (sum(a));
COMMENT ON INDEX ix_lower IS 'small letters';
SELECT obj_description('ix_lower'::regclass, 'pg_class');
ALTER TABLE ix_m RENAME COLUMN b TO bb;
-- ordered
SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'ix_m' ORDER BY 1;
INSERT INTO ix_m VALUES (3, 'Z', NULL);
UPDATE ix_m SET bb = upper(bb);
ALTER TABLE ix_m DROP COLUMN bb;
-- ordered
SELECT indexname FROM pg_indexes WHERE tablename = 'ix_m' ORDER BY 1;
DROP INDEX ix_both;
DROP INDEX IF EXISTS ix_no;
-- Keys by their numbers, as object mappers ask for them: int2vector and oidvector start at 0.
CREATE TABLE ix_keys (x text, y text, z integer);
CREATE INDEX ix_keys_all ON ix_keys (lower(x), (z + 1), z, lower(y));
SELECT k, pg_get_indexdef('ix_keys_all'::regclass, k, true), pg_get_indexdef('ix_keys_all'::regclass, k, false)
FROM generate_series(0, 5) k ORDER BY 1;
SELECT unnest(indkey), generate_subscripts(indkey, 1), generate_subscripts(indclass, 1)
FROM pg_index WHERE indexrelid = 'ix_keys_all'::regclass;
SELECT generate_subscripts(indkey, 1, true), array_lower(indkey, 1), array_upper(indkey, 1), array_length(indkey, 1),
    array_upper(indoption, 1), indkey[0], indkey[array_upper(indkey, 1)]
FROM pg_index WHERE indexrelid = 'ix_keys_all'::regclass;
SELECT array_upper(ARRAY[7, 8], 1), array_lower(ARRAY[7, 8], 1), array_upper(ARRAY[[1, 2, 3]], 2), array_upper('{}'::int[], 1);

-- What types read of text at the edges: bounds of arrays, offsets, clocks without all fields, punctuation, short addresses, octal oids.
-- cases
SELECT '[1:2]={1,2}'::int[], '[2]={1,2}'::int[], '[1:2][1:1]={{1},{2}}'::int[], ' [+1:2] = {1,2}'::int[];
-- error 22P02
SELECT '[1:3]={1,2}'::int[];
-- error 22P02
SELECT '[1:2][1:2]={1,2}'::int[];
-- error 22P02
SELECT '[1:2]={{1,2}}'::int[];
-- error 22P02
SELECT '[1:1]={}'::text[];
-- error 2202E
SELECT '[1:0]={}'::int[];
SELECT '08002b010203'::macaddr, '8:0:2b:1:2:3'::macaddr, '08002b:010203'::macaddr;
-- error 22P02
SELECT '08002b0102'::macaddr;
-- error 22P02
SELECT '0800.2b01.02'::macaddr;
SELECT '010'::oid, '0x1F'::oid, ' 7 '::oid, '-1'::oid;
-- error 22P02
SELECT '1_000'::oid;
SELECT '12:00+05:'::timetz, '12:00+05:3'::timetz, '12:00+530'::timetz, '12:00+05:30:9'::timetz, '12:00-005'::timetz;
-- error 22009
SELECT '12:00+05300'::timetz;
-- error 22009
SELECT '2024-01-31 12:34:56 +04530'::timestamptz;
-- error 22009
SELECT '12:00+5:5959'::timetz;
SELECT '2024-01-31 12:34:.6 z'::timestamptz, '12:34:.6'::time, '12:.6'::time, '12:'::time, '24:00:.'::time, '0006.7'::time, '12:34.5'::time;
SELECT '12:34:.6'::interval, '12:'::interval, '1!day'::interval, '1_day'::interval, '3d]4:05:06'::interval, '( 2 "days"?'::interval, '1 day ago'::interval;
-- error 22007
SELECT '1 ago'::interval;
-- error 22007
SELECT '1 d4 ago'::interval;
-- error 22007
SELECT '1day2hours'::interval;
-- error 22007
SELECT ' P1D'::interval;
-- error 22007
SELECT '-.5 day'::interval;
SELECT timestamptz '2024-01-01' AT TIME ZONE '+5', timestamptz '2024-01-01' AT TIME ZONE '-05:30', timestamptz '2024-01-01' AT TIME ZONE '16';
-- error 22023
SELECT timestamptz '2024-01-01' AT TIME ZONE '-0330';
-- error 22023
SELECT timestamptz '2024-01-01' AT TIME ZONE '+05:60';
-- results of a path before the error that a silent function keeps to itself
SELECT jsonb_path_query_array('[1, 2.0, "x", 3]', '$[*].double()', '{}', true), jsonb_path_query_first('[1, "x"]', '$.abs()', '{}', true), jsonb_path_query_array('{"a": [1, "b"]}', '-$.a[*]', '{}', true);
SELECT x FROM jsonb_path_query('[[1, "x"], 2]', '$[*][*].floor()', '{}', true) AS x;
SELECT E'a\vb', length(E'\\v'), E'\\\v', ascii(E'\v'), 'a\v', $$\v$$, e'\v''x' AS "\v", E'ä\v' 
  'b\v' AS x;
-- error 42703
SELECT 1 AS "E'\v'", E'\v' || nowhere;

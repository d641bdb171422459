array_append(array[1,2], 3), array_append(null::int4[], 1), array_append(array[1], null), array_prepend(0, array[1,2]), array_cat(array[1], array[2,3]), array_cat(null::int4[], array[1]), array[1] || 2, 0 || array[1], array[1] || array[2], array[1.5] || 2.25, array['a'] || 'b'::text
select array_length(x, 1), array_length(x, 2), cardinality(x), array_upper(x, 1), array_lower(x, 1), array_ndims(x), array_dims(x) from (values (array[1,2,3]), (array[]::int4[]), (null)) v(x)
select array_position(x, 2), array_positions(x, 2), array_remove(x, 2), array_replace(x, 2, 9) from (values (array[1,2,3,2]), (array[]::int4[]), (array[null,2]), (null)) v(x)
array_position(array[1,null,2], null), array_position(array['a','b','a'], 'a', 2), array_positions(array[1,null,null], null), array_remove(array[1,null,2], null), array_replace(array[1,null], null, 5), array_position(array[1.50, 2.5], 1.5), array_remove(array[1.5, 2.25], 2.250)
array[1,2] @> array[1], array[1,2] @> array[3], array[1,2] <@ array[1,2,3], array[1,2] && array[2,3], array[1,2] && array[3], array[1,null] @> array[null]::int4[], array[1] @> array[]::int4[], array[1,null] && array[null]::int4[], array[1.5] @> array[1.50]
array[1,2] = array[1,2], array[1,2] < array[1,3], array[1,2] < array[1,2,0], array[1,2] <> array[2,1], array[1,null] = array[1,null]::int4[], array['a'] > array['B'], array[1.0] = array[1.00], array[]::int4[] < array[1]
select unnest(array[1,2,null])
select * from unnest(array['a','b',null]) with ordinality
select * from unnest(array[1.5, 2.25])
select * from unnest(null::int4[])
select * from generate_series(1, 5)
select * from generate_series(5, 1, -2)
select * from generate_series(1, 0)
select * from generate_series(1, 5, 0)
select * from generate_series(1::int8, 3)
select generate_series(1, 3)
select * from generate_subscripts(array['a','b'], 1)
select * from generate_subscripts(array['a','b'], 2)
select array_agg(x order by x nulls first), array_agg(x order by x desc), array_agg(distinct x) filter (where x is not null) from (values (2), (1), (null)) v(x)
select array_agg(x) from (values (1)) v(x) where false
select array_agg(x), array_agg(x / 3) from (values (1.5), (2.25)) v(x)
array_fill(7, array[3]), array_fill(null::text, array[2]), trim_array(array[1,2,3], 1), trim_array(array[1,2,3], 3)
trim_array(array[1], 2)
1 = any(array[1,2]), 1 = any(array[2,null]), 1 = all(array[1,1]), 1 = all(array[]::int4[]), 1 <> all(array[2,3]), 1 = any(null::int4[]), 'a' = any('{a,b}'), 1.0 = any(array[1.00, 2])
(array[1,2,3])[2], (array[1,2,3])[0], (array[1,2,3])[5], (array[1,2,3])[2:3], (array[1,2,3])[:2], (array[1.5,2.25])[1]
array[1,2]::text, '{1,2}'::int4[], '{}'::text[], array[1,2]::int8[], array['1','2']::int4[], '{"a b",c}'::text[]
select * from generate_series(0.5, 2, 0.5)
select * from generate_series(1.0, 3)
select * from generate_series(3, 1, -0.75)
select * from generate_series(1.5, 2, 0)
array_shuffle('{}'::int4[]), array_length(array_shuffle(array[1,2,3]), 1), array_shuffle(array[1,2,3]) @> array[1,2,3]

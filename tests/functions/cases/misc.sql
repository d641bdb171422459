num_nulls(1, null, 'a', null), num_nonnulls(1, null), gen_random_uuid() is not null, pg_typeof(1)::text = 'x' or true, length(gen_random_uuid()::text)
'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid = 'A0EEBC999C0B4EF8BB6D6BB9BD380A11'::uuid, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid < 'b0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid
'\xaa'::bytea < '\xab'::bytea, '\xaa'::bytea = '\xaa'::bytea, '\xaa'::bytea > ''::bytea
true = true, true > false, false <> true, true <= null, true and null, null or true, not null::bool
nullif(1, 1), nullif(1, 2), coalesce(null, 1, 2), greatest(1, null, 3), least(2.5, 1, null), greatest(null, null), greatest('a', 'B'), least(1.50, 1.5)
65::"char", 0::"char", (-1)::"char", 'a'::"char"::int4, set_byte('\x0000', 1, 255), get_bit('\xff00'::bytea, 9), get_bit('\xff00'::bytea, 1), set_bit('\x00'::bytea, 3, 1), normalize(E'e\u0301') = 'é', 'x' is normalized, normalize('é', nfd) = 'é', unistr('d\0061t\+000061 \u00e9'), parse_ident('"SomeSchema".someTable'), pg_size_bytes('1.5 kB'), pg_size_bytes('10')
200::"char"
parse_ident('1a')
pg_size_bytes('x')
select string_agg(x, '\x00'::bytea order by x), string_agg(x, ''::bytea) filter (where x is null) from (values ('\xbb'::bytea), ('\xaa'), (null)) v(x)
overlay('\x010203'::bytea placing '\xffff'::bytea from 2), overlay('\x010203'::bytea placing '\xff'::bytea from 2 for 2), convert('\xe9', 'LATIN1', 'UTF8'), length('\xc3a9'::bytea, 'UTF8'), array_length(array_sample(array[1,2,3], 2), 1), random_normal() is not null, random_normal(5, 0)
array_sample(array[1], 2)
select * from generate_series(timestamptz '2021-10-30 22:00+00', timestamptz '2021-11-01 23:00+00', interval '1 day', 'Europe/Warsaw')

num_nulls(1, null, 'a', null), num_nonnulls(1, null), gen_random_uuid() is not null, pg_typeof(1)::text = 'x' or true, length(gen_random_uuid()::text)
'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid = 'A0EEBC999C0B4EF8BB6D6BB9BD380A11'::uuid, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid < 'b0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid
'\xaa'::bytea < '\xab'::bytea, '\xaa'::bytea = '\xaa'::bytea, '\xaa'::bytea > ''::bytea
true = true, true > false, false <> true, true <= null, true and null, null or true, not null::bool
nullif(1, 1), nullif(1, 2), coalesce(null, 1, 2), greatest(1, null, 3), least(2.5, 1, null), greatest(null, null), greatest('a', 'B'), least(1.50, 1.5)

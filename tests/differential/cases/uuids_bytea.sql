-- uuid and bytea: forms read and written, order, comparison, functions.
-- setup
CREATE TABLE ub_t (id integer, u uuid, b bytea);
INSERT INTO ub_t VALUES
  (1, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '\xdeadbeef'), (2, 'A0EEBC999C0B4EF8BB6D6BB9BD380A12', ''), (3, NULL, NULL),
  (4, '{00000000-0000-0000-0000-000000000000}', '\x00ff00'), (5, 'ffffffff-ffff-ffff-ffff-ffffffffffff', 'abc\\d\001'), (6, '7fffffff-ffff-ffff-ffff-ffffffffffff', '\x7f80');
-- cases
SELECT id, u, b FROM ub_t;
-- ordered
SELECT id FROM ub_t ORDER BY u DESC NULLS LAST;
-- ordered
SELECT id FROM ub_t ORDER BY b, id;
SELECT id FROM ub_t WHERE u = 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11';
SELECT id FROM ub_t WHERE u > '80000000-0000-0000-0000-000000000000' OR b < '\x01';
SELECT id, u::text, length(b), octet_length(b), b || '\x00'::bytea FROM ub_t;
SELECT id, substring(b FROM 2 FOR 2), encode(b, 'hex'), encode(b, 'base64'), encode(b, 'escape') FROM ub_t;
SELECT decode('deadBEEF', 'hex'), decode('aGk=', 'base64'), '\x'::bytea, 'a'::bytea, md5('\x00'::bytea), get_byte('\xff00'::bytea, 0);
SELECT set_byte('\x0000'::bytea, 1, 255);
SELECT convert_to('é', 'UTF8'), convert_from('\xc3a9', 'UTF8'), sha256(''), 'é'::text::bytea, position('\xbe'::bytea IN '\xdeadbeef'::bytea);
SELECT count(DISTINCT u), count(DISTINCT b) FROM ub_t;
SELECT u, count(*) FROM ub_t GROUP BY u HAVING count(*) = 1 AND u IS NOT NULL;
SELECT uuid '11111111-1111-1111-1111-111111111111' < '22222222-2222-2222-2222-222222222222', gen_random_uuid() = gen_random_uuid(), length(gen_random_uuid()::text);
SELECT ARRAY[u] FROM ub_t WHERE id = 1;
-- error 22P02
SELECT 'not-a-uuid'::uuid;
-- error 22P02
SELECT 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1'::uuid;
-- error 22023
SELECT '\xabc'::bytea;
-- error 22023
SELECT '\xzz'::bytea;
-- error 22P02
SELECT '\9'::bytea;
-- error 42883
SELECT u + 1 FROM ub_t;
-- error 42883
SELECT max(u) FROM ub_t;
-- error 22021
SELECT convert_from('\xff', 'UTF8');

-- Bit strings: literals, lengths, casts, operators, functions, aggregates, columns.
-- setup
CREATE TABLE bt_t (id integer, b bit(5), o bit, v bit varying, w varbit(6));
INSERT INTO bt_t VALUES
  (1, B'10101', B'1', B'1', B'101'), (2, B'00000', B'0', '', ''), (3, NULL, NULL, NULL, NULL),
  (4, X'1F'::bit varying::bit(5), '1', X'DEADBEEF0123456789', b'111111'), (5, '11111', '0', '10', '10'), (6, '00001', '1', '1000', '0');
-- cases
SELECT * FROM bt_t;
SELECT B'101', b'', X'ff', x'0F', B'1' || B'0', pg_typeof(B'1'), pg_typeof(B'1' || B'0'), pg_typeof(b) FROM bt_t;
-- ordered
SELECT id, b FROM bt_t ORDER BY b, id;
-- ordered
SELECT id, v FROM bt_t ORDER BY v DESC NULLS LAST, id;
-- ordered
SELECT v FROM (VALUES (B'1'), (B'10'), (B'01'), (B'001'), (B''), (B'1000000000000001'), (B'0000000000000000')) AS s(v) ORDER BY v;
SELECT a.v, b.v, a.v = b.v, a.v <> b.v, a.v < b.v, a.v <= b.v, a.v > b.v, a.v >= b.v FROM bt_t a, bt_t b;
SELECT id FROM bt_t WHERE b = B'10101' OR v = '10';
SELECT id FROM bt_t WHERE b IN ('11111', '00001') OR w = ANY (ARRAY[B'0', B'10']);
-- error 22P02
SELECT B'102';
-- error 22P02
SELECT X'1G';
-- error 22P02
SELECT 'b12'::bit varying;
-- error 22P02
SELECT 'ä'::bit varying;
-- error 22P02
SELECT 'xyz'::text::bit(3);
-- error 22P02
SELECT ' 101'::varbit;
SELECT 'b101'::varbit, 'X1f'::varbit, 'B'::varbit, ''::varbit, '101'::bit(5), '10101'::bit(3), '101'::bit, '101'::varbit(2), ''::bit(3);
SELECT B'101'::bit(5), B'10101'::bit(2), B'10101'::varbit(2), B'10101'::bit varying, B'10'::varbit::bit(3), B'101'::bit;
SELECT id, b::varbit(3), v::bit(4), w::bit(2), v::varbit(3) FROM bt_t;
-- error 42846
SELECT CAST(3 AS bit varying(4));
SELECT 44::bit(10), 44::bit(3), (-44)::bit(12), 1::bit, 2::bit, 5000000000::bit(40), (-1)::bit(70), 5::bit(70), (-5000000000)::bit(20);
SELECT id, id::bit(8), (id * -3)::bit(8), (id * 10000000000)::bit(64) FROM bt_t;
SELECT B'101'::integer, B''::integer, B'11111111111111111111111111111111'::integer, B'10000000000000000000000000000000'::integer, X'ffffffffffffffff'::bigint, X'ff'::bigint, '101'::varbit::bit(3)::integer;
SELECT id, b::integer, b::bigint FROM bt_t;
-- error 22003
SELECT B'111111111111111111111111111111111'::integer;
-- error 22003
SELECT X'fffffffffffffffff'::bigint;
-- error 42846
SELECT B'101'::smallint;
-- error 42846
SELECT B'101'::boolean;
-- error 42846
SELECT 1.5::bit(3);
-- error 42846
SELECT B'101'::varbit::integer;
SELECT B'101'::text, B''::text || 'x', b::text, length(v::varchar), '101'::text::bit(4) FROM bt_t;
SELECT B'1100' & B'1010', B'1100' | B'1010', B'1100' # B'1010', ~B'1100', B'' & B'', ~B'', B'1100' || B'' || B'01';
SELECT id, b & B'11110', b | '00001', b # b, ~b, ~v, b || v, v || w FROM bt_t;
SELECT B'10101' << 2, B'10101' >> 2, B'10101' << 10, B'10101' >> 10, B'10101' << -1, B'10101' >> -1, B'10101' << 0, B'' << 3;
SELECT id, b << id, v >> id, b << (id - 3), v << -id FROM bt_t;
-- error 22026
SELECT B'1' & B'10';
-- error 22026
SELECT B'1' | B'10';
-- error 22026
SELECT b # v FROM bt_t WHERE id = 1;
-- error 42883
SELECT B'1' + B'1';
-- error 42883
SELECT B'1' & 1;
SELECT length(B'10101'), bit_length(B'10101'), octet_length(B'10101'), octet_length(B'101010101'), length(B''), octet_length(B''), bit_count(B'10101'), bit_count(B'');
SELECT id, length(b), length(v), octet_length(v), bit_length(w), bit_count(v) FROM bt_t;
SELECT substring(B'110011' FROM 2), substring(B'110011' FROM 2 FOR 3), substring(B'110011' FROM -1 FOR 4), substring(B'110011' FROM 5 FOR 10), substring(B'110011', 9), substring(B'110011' FOR 2), substring(B'110011' FROM 0);
-- error 22011
SELECT substring(B'110011' FROM 2 FOR -1);
SELECT overlay(B'000000' PLACING B'111' FROM 3), overlay(B'000000' PLACING B'111' FROM 3 FOR 1), overlay(B'000000' PLACING B'' FROM 2 FOR 3);
-- error 22011
SELECT overlay(B'000000' PLACING B'111' FROM 0);
SELECT position(B'010' IN B'110101'), position(B'' IN B'1'), position(B'' IN B''), position(B'11' IN B'1'), position(B'111' IN B'0101');
SELECT get_bit(B'10101', 0), get_bit(B'10101', 1), get_bit(B'10101', 4), set_bit(B'10101', 0, 0), set_bit(B'10101', 1, 1), set_bit(B'10101', 4, 0);
-- error 2202E
SELECT get_bit(B'10101', 5);
-- error 2202E
SELECT get_bit(B'10101', -1);
-- error 2202E
SELECT set_bit(B'10101', 5, 1);
-- error 22023
SELECT set_bit(B'10101', 1, 2);
SELECT bit_and(b), bit_or(b), bit_xor(b), count(b), count(DISTINCT o) FROM bt_t;
SELECT o, bit_and(b), bit_or(b), bit_xor(b) FROM bt_t GROUP BY o;
SELECT bit_and(b), bit_or(b) FILTER (WHERE id < 2) FROM bt_t WHERE id > 1 AND id < 4;
SELECT bit_or(v) FROM (VALUES (B''), (B'')) AS s(v);
SELECT bit_or(v) FROM bt_t WHERE false;
-- error 22026
SELECT bit_or(v) FROM bt_t;
-- error 42883
SELECT max(b) FROM bt_t;
SELECT v, count(*) FROM bt_t GROUP BY v;
SELECT DISTINCT o FROM bt_t;
SELECT b FROM bt_t UNION SELECT w FROM bt_t;
SELECT b FROM bt_t UNION ALL SELECT v FROM bt_t;
SELECT b FROM bt_t UNION SELECT v::bit(9) FROM bt_t;
SELECT b FROM bt_t INTERSECT SELECT o::bit(5) FROM bt_t;
SELECT b FROM bt_t EXCEPT SELECT v::bit(9) FROM bt_t;
SELECT greatest(B'1', B'10', B'01'), least(B'1', B'10', B'01'), coalesce(NULL, B'1'), nullif(B'1', B'1'), CASE WHEN true THEN B'1' ELSE '10' END;
SELECT ARRAY[B'1', B'', NULL], '{101,"",NULL}'::bit varying[], ARRAY[B'101'::bit(3)], (ARRAY[B'10', B'01'])[2];
SELECT array_agg(v ORDER BY id), string_agg(b::text, '|' ORDER BY id) FROM bt_t;
SELECT to_json(B'101'), to_jsonb(b), format('%s', v) FROM bt_t WHERE id = 1;
SELECT a.id, b.id FROM bt_t a JOIN bt_t b ON a.v = b.w;
SELECT id, row_number() OVER (ORDER BY v, id), lag(b) OVER (ORDER BY id) FROM bt_t;
-- error 22026
INSERT INTO bt_t (id, b) VALUES (7, B'1');
-- error 22026
INSERT INTO bt_t (id, b) VALUES (7, '1');
-- error 22026
INSERT INTO bt_t (id, b) SELECT 7, v FROM bt_t;
-- error 22001
INSERT INTO bt_t (id, w) VALUES (7, B'1010101');
-- error 22001
UPDATE bt_t SET w = v || v;
-- error 42804
INSERT INTO bt_t (id, b) VALUES (7, 5);
INSERT INTO bt_t (id, b, w) VALUES (7, 5::bit(5), B'1' || B'0') RETURNING *;
UPDATE bt_t SET v = b & B'00111' WHERE id < 5 RETURNING id, v;
-- error 22023
CREATE TABLE bt_x (b bit(0));
-- error 22023
CREATE TABLE bt_x (b bit varying(0));
-- error 22023
CREATE TABLE bt_x (b bit(83886081));
CREATE TABLE bt_k (b bit(2) PRIMARY KEY, a bit varying(3)[] DEFAULT ARRAY[B'1']::varbit[]);
INSERT INTO bt_k VALUES ('10'), ('01');
-- error 23505
INSERT INTO bt_k VALUES (B'10');
ALTER TABLE bt_k ADD COLUMN c bit(3) DEFAULT B'010';
SELECT * FROM bt_k;
SELECT attname, format_type(atttypid, atttypmod), atttypmod FROM pg_attribute WHERE attrelid = 'bt_t'::regclass AND attnum > 0;
SELECT column_name, data_type, character_maximum_length FROM information_schema.columns WHERE table_name = 'bt_t';
SELECT format_type(1560, NULL), format_type(1560, -1), format_type(1562, 5), format_type(1561, NULL);
SELECT s, s::varbit, s::bit(8), s::bit(32)::bigint, s::bit(70)
FROM (VALUES ('x'), ('X0'), ('x1F'), ('xfF09aB'), ('x123456789abcdef'), ('x0123456789abcdef'), ('x0123456789abcdef01'), ('1'), (''), ('b101'), (NULL)) AS t(s);
-- error 22P02
SELECT s::varbit FROM (VALUES ('x1' || chr(10))) AS t(s);
-- error 22P02
SELECT s::varbit FROM (VALUES ('x-1')) AS t(s);
-- error 22P02
SELECT s::varbit FROM (VALUES ('x1_0')) AS t(s);

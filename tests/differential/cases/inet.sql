-- inet, cidr and macaddr: forms read, order, operators, functions, casts, columns.
-- setup
CREATE TABLE ne_t (id integer, i inet, c cidr, m macaddr);
INSERT INTO ne_t VALUES
  (1, '192.168.1.5/24', '192.168.1.0/24', '08:00:2b:01:02:03'), (2, '10.0.0.1', '10/8', '08002B-010204'),
  (3, NULL, NULL, NULL), (4, '2001:db8::1/64', '2001:db8::/32', '0800.2b01.0203'), (5, '::ffff:1.2.3.4', '::/0', 'ff:ff:ff:ff:ff:ff'),
  (6, '10.0.0.1/8', '10.0.0.0/16', '0:1:2:3:4:5'), (7, '::1', '0.0.0.0/0', '08-00-2b-01-02-03'), (8, '192.168.1.5', '224.0.0.0/4', '00:00:00:00:00:00');
-- cases
SELECT * FROM ne_t;
-- ordered
SELECT id, i FROM ne_t ORDER BY i, id;
-- ordered
SELECT id, c FROM ne_t ORDER BY c DESC NULLS LAST, id;
-- ordered
SELECT id, m FROM ne_t ORDER BY m, id;
-- ordered
SELECT i FROM (VALUES (inet '10.0.0.0/8'), ('10.0.0.0/16'), ('10.0.0.0'), ('10.1.0.0/16'), ('10.5.0.0/8'), ('9.255.255.255'), ('11.0.0.0/7'), ('::/0'), ('0.0.0.0/0'), ('255.255.255.255/0'), ('10.0.0.1/16')) AS s(i) ORDER BY i;
SELECT a.id, b.id, a.i = b.i, a.i <> b.i, a.i < b.i, a.i <= b.i, a.i > b.i, a.i >= b.i FROM ne_t a, ne_t b;
SELECT a.id, b.id, a.i << b.i, a.i <<= b.i, a.i >> b.i, a.i >>= b.i, a.i && b.i FROM ne_t a, ne_t b;
SELECT a.id, b.id, a.i << b.c, a.c <<= b.c, a.c >> b.i, a.c >>= b.c, a.c && b.c, a.c = b.i FROM ne_t a, ne_t b;
SELECT a.id, b.id, a.m = b.m, a.m < b.m, a.m <= b.m, a.m <> b.m, a.m & b.m, a.m | b.m FROM ne_t a, ne_t b;
SELECT '1.2.3.4'::inet, '1.2.3.4/32'::inet, '1.2.3.4/0'::inet, '10.1/16'::inet, '10/8'::inet, '1.2.3/24'::inet, '001.02.3.4'::inet, '1.2.3.4/08'::inet, '255.255.255.255/31'::inet;
SELECT '::'::inet, '::1/128'::inet, '1::'::inet, '1:2:3:4:5:6:7:8'::inet, '1:0:0:4:0:0:0:8/96'::inet, '0:0:1::'::inet, 'FE80::ABCD/10'::inet, '::1.2.3.4'::inet, '::ffff:1.2.3.4/100'::inet, '1::1.2.3.4'::inet, '::2'::inet, '::1:2'::inet, '1:0:2:3:4:5:6:7'::inet, '::ffff:0:0'::inet;
SELECT '10'::cidr, '10.1'::cidr, '172'::cidr, '192.168'::cidr, '192.168.1'::cidr, '224'::cidr, '225'::cidr, '240'::cidr, '1.2.3.4'::cidr, '10.1.2.0/24'::cidr, '0/0'::cidr, '0x0a01'::cidr, '0x0A/8'::cidr;
SELECT '::1'::cidr, '2001:db8::/32'::cidr, '::/0'::cidr, '::ffff:1.2.3.0/120'::cidr;
-- error 22P02
SELECT '1.2.3'::inet;
-- error 22P02
SELECT '1.2.3.256'::inet;
-- error 22P02
SELECT '1.2.3.4/33'::inet;
-- error 22P02
SELECT '1.2.3.4.5'::inet;
-- error 22P02
SELECT '1.2.3.4/'::inet;
-- error 22P02
SELECT ' 1.2.3.4'::inet;
-- error 22P02
SELECT ''::inet;
-- error 22P02
SELECT 'abc'::inet;
-- error 22P02
SELECT '10/16'::inet;
-- error 22P02
SELECT '::1/129'::inet;
-- error 22P02
SELECT '::1/08'::inet;
-- error 22P02
SELECT '1:2:3:4:5:6:7'::inet;
-- error 22P02
SELECT '1::2::3'::inet;
-- error 22P02
SELECT 'fe80::1%eth0'::inet;
-- error 22P02
SELECT '12345::'::inet;
SELECT '::1.2.3'::inet, '::ffff:1.2/100'::inet;
-- error 22P02
SELECT '::1.02.3.4'::inet;
-- error 22P02
SELECT '1.2.3.4/8'::cidr;
-- error 22P02
SELECT '2001:db8::1/64'::cidr;
-- error 22P02
SELECT '10.'::cidr;
-- error 22P02
SELECT 'ä'::cidr;
SELECT '08:00:2b:01:02:03'::macaddr, '8:0:2B:1:2:3'::macaddr, '08-00-2b-01-02-03'::macaddr, '08002b:010203'::macaddr, '08002b-010203'::macaddr, '0800.2b01.0203'::macaddr, '0800-2b01-0203'::macaddr, '08002b010203'::macaddr, ' 08:00:2b:01:02:03 '::macaddr;
-- error 22P02
SELECT '08:00:2b:01:02'::macaddr;
-- error 22P02
SELECT '08:00:2b:01:02:03:04'::macaddr;
-- error 22P02
SELECT '08:00:2b:01:02:0g'::macaddr;
-- error 22003
SELECT '08:00:2b:01:02:1ff'::macaddr;
-- error 22P02
SELECT ''::macaddr;
SELECT id, host(i), masklen(i), family(i), network(i), broadcast(i), netmask(i), hostmask(i), abbrev(i) FROM ne_t;
SELECT id, host(c), masklen(c), family(c), network(c), broadcast(c), netmask(c), hostmask(c) FROM ne_t;
SELECT set_masklen(i, 16), set_masklen(i, -1), set_masklen(c, 4), set_masklen(c, 32) FROM ne_t;
-- error 22023
SELECT set_masklen(inet '1.2.3.4', 33);
-- error 22023
SELECT set_masklen(inet '::1', -2);
SELECT inet_merge('192.168.1.5/24', '192.168.2.5/24'), inet_merge('10.0.0.1', '10.0.0.1'), inet_merge('::1', 'ffff::'), inet_merge(cidr '10.0.0.0/8', inet '10.1.2.3');
-- error 22023
SELECT inet_merge('1.2.3.4', '::1');
SELECT a.id, b.id, inet_same_family(a.i, b.c) FROM ne_t a, ne_t b;
SELECT id, ~i, i + 5, i - 5, 7::bigint + i, i & i, i | '0.0.0.255' FROM ne_t WHERE family(i) = 4;
SELECT id, ~i, i + 5, i - 1, i & '::ffff' , i | '::ff/12' FROM ne_t WHERE family(i) = 6;
SELECT inet '192.168.1.5' - '192.168.1.1', inet '1.2.3.4/8' - inet '1.2.3.5/24', inet '::5' - '::1', ~cidr '10.0.0.0/8', cidr '10.0.0.0/8' + 1;
-- error 22003
SELECT inet '255.255.255.255' + 1;
-- error 22003
SELECT inet '0.0.0.0' - 1;
-- error 22003
SELECT inet 'ffff::' - '::1';
-- error 22023
SELECT inet '1.2.3.4' & '::1';
-- error 22023
SELECT inet '1.2.3.4' | '::1';
-- error 22023
SELECT inet '1.2.3.4' - inet '::1';
-- error 42883
SELECT inet '1.2.3.4' * 2;
-- error 22P02
SELECT inet '1.2.3.4' || 'x'::cidr;
-- error 42883
SELECT inet '1.2.3.4' || inet '1.2.3.4';
SELECT ~m, m & 'ff:ff:ff:00:00:00', m | '00:00:00:ff:ff:ff', trunc(m) FROM ne_t;
SELECT i::text, c::text, m::text, i::varchar, length(c::text), i::cidr, c::inet, i || '!', '!' || m FROM ne_t;
SELECT inet(c), cidr(i), text(i), '1.2.3.4'::text::inet, '10.0.0.0/8'::varchar::cidr, '8:0:2b:1:2:3'::text::macaddr FROM ne_t;
-- error 42846
SELECT i::integer FROM ne_t;
-- error 42846
SELECT m::inet FROM ne_t;
-- error 42846
SELECT 5::inet;
SELECT min(i), max(i), min(c), max(c), count(DISTINCT i), count(DISTINCT m) FROM ne_t;
-- error 42883
SELECT sum(i) FROM ne_t;
-- error 42883
SELECT max(m) FROM ne_t;
SELECT i, count(*) FROM ne_t GROUP BY i;
SELECT DISTINCT family(c), masklen(c) FROM ne_t;
SELECT network(i), count(*) FROM ne_t GROUP BY 1;
SELECT id FROM ne_t WHERE i << '192.168.0.0/16' OR c = '10/8' OR m = '08002b010203';
SELECT id FROM ne_t WHERE i IN ('10.0.0.1', '::1') OR i BETWEEN '192.0.0.0' AND '193.0.0.0';
SELECT a.id, b.id FROM ne_t a JOIN ne_t b ON a.i <<= b.c;
SELECT i FROM ne_t UNION SELECT c FROM ne_t;
SELECT greatest(inet '1.2.3.4', '::1'), least(inet '1.2.3.4', '1.2.3.4/8'), coalesce(NULL, inet '::1'), nullif(inet '1.2.3.4', '1.2.3.4/32'), CASE WHEN true THEN cidr '10/8' ELSE inet '1.2.3.4' END;
SELECT ARRAY[i, '1.2.3.4', NULL], ARRAY[c], ARRAY[m], '{1.2.3.4,"::1/64",NULL}'::inet[], (ARRAY[i, c])[2] FROM ne_t;
SELECT array_agg(i ORDER BY i), string_agg(c::text, '|' ORDER BY id), array_agg(m ORDER BY id) FROM ne_t;
SELECT to_json(i), to_jsonb(c), to_json(m), format('%s %s %s', i, c, m), concat(i, c), json_build_array(i) FROM ne_t WHERE id IN (1, 2);
SELECT id, lag(i) OVER (ORDER BY id), rank() OVER (ORDER BY i), first_value(c) OVER (ORDER BY c) FROM ne_t;
SELECT pg_typeof(i), pg_typeof(network(i)), pg_typeof(c || ''), pg_typeof(i - i), pg_typeof(i + 1), pg_typeof(m) FROM ne_t WHERE id = 1;
INSERT INTO ne_t (id, i, c) VALUES (9, cidr '10/8', '10/8'), (10, '1.2.3.4', inet '1.2.3.4/8') RETURNING *;
UPDATE ne_t SET i = i + 1, m = trunc(m) WHERE id < 3 RETURNING id, i, m;
-- error 42804
INSERT INTO ne_t (id, i) VALUES (11, 5);
CREATE TABLE in_k (i inet PRIMARY KEY, a cidr[] DEFAULT '{10/8}');
INSERT INTO in_k VALUES ('1.2.3.4'), ('1.2.3.4/8');
-- error 23505
INSERT INTO in_k VALUES ('1.2.3.4/32');
ALTER TABLE in_k ADD COLUMN d cidr DEFAULT '10.1/16';
ALTER TABLE in_k ADD COLUMN e macaddr DEFAULT '0800.2b01.0203';
SELECT * FROM in_k;
SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'ne_t'::regclass AND attnum > 0;
SELECT pg_typeof(inet_client_addr());
SELECT count(*) FROM pg_stat_activity WHERE client_addr << '10.99.0.0/16';
SELECT abbrev(cidr '10.1.0.0/16'), abbrev(cidr '0/0'), abbrev(cidr '10/8'), abbrev(cidr '10.1.2.128/25'), abbrev(cidr '1.2.3.4'), abbrev(cidr '192.0.0.0/3'), abbrev(cidr '10.0.0.0/16');
SELECT abbrev(c) FROM ne_t WHERE family(c) = 4;
-- refused 0A000: not built
SELECT abbrev(cidr '2001:db8::/32');
CREATE TABLE in_8 (id integer, m macaddr8);
INSERT INTO in_8 VALUES (1, '08:00:2b:01:02:03:04:05'), (2, '08002b0102030405'), (3, NULL), (4, '08:00:2b:01:02:03'), (5, 'ff-ff-ff-ff-ff-ff-ff-ff'), (6, macaddr '1:2:3:4:5:6');
-- ordered
SELECT * FROM in_8 ORDER BY m, id;
SELECT a.id, b.id, a.m = b.m, a.m < b.m, a.m >= b.m, a.m & b.m, a.m | b.m FROM in_8 a, in_8 b;
SELECT '0800.2b01.0203.0405'::macaddr8, '0800-2b01-0203'::macaddr8, '08002b:0102030405'::macaddr8, ' 08:00:2b:01:02:03:04:05 '::macaddr8, '08:00:2b:01:02:03:4'::macaddr8, '08.00.2B.01.02.03'::macaddr8;
-- error 22P02
SELECT '08:00:2b:01:02'::macaddr8;
-- error 22P02
SELECT '08:00-2b:01:02:03:04:05'::macaddr8;
-- error 22P02
SELECT '08:00:2b:01:02:03:04:05:06'::macaddr8;
-- error 22P02
SELECT '08:00:2b:01:02:0g'::macaddr8;
-- error 22P02
SELECT ''::macaddr8;
SELECT ~m, trunc(m), macaddr8_set7bit(m), m::text FROM in_8;
SELECT m::macaddr FROM in_8 WHERE id IN (4, 6);
SELECT m::macaddr8 FROM ne_t;
-- error 22003
SELECT m::macaddr FROM in_8;
SELECT m, count(*) FROM in_8 GROUP BY m;
-- error 42725
SELECT a.id, b.id FROM in_8 a JOIN ne_t b ON a.m = b.m;
SELECT ARRAY[m, NULL], pg_typeof(m), to_json(m) FROM in_8;

-- Hash functions: the values are PostgreSQL's, which applications store or use as numbers of advisory locks.
-- setup
CREATE TABLE hs_t (a integer, s text);
INSERT INTO hs_t SELECT i, repeat('aé€😀z', i / 5) || left('abcdefghijkl', i % 13) FROM generate_series(0, 60) AS i;
INSERT INTO hs_t VALUES (NULL, NULL);
-- cases
SELECT a, s, hashtext(s), hashtextextended(s, 0), hashtextextended(s, a * -7000000000000) FROM hs_t;
SELECT a, hashint4(a - 30), hashint2((a - 30)::int2), hashint8(a - 30), hashoid(a::oid) FROM hs_t;
SELECT a, hashint4extended(a - 30, 0), hashint8extended((a - 30) * 500000000000, a), hashint2extended(a::int2, -1),
    hashoidextended(a::oid, 12345678901234), hashint8((a - 30) * 500000000000), hashint8((a - 30) * 200000000::int8)
FROM hs_t;
SELECT hashint4(2147483647), hashint4(-2147483648), hashint8(2147483648), hashint8(-2147483649), hashint8(4294967295),
    hashint8(4294967296), hashoid(4294967295::oid), hashint8(9223372036854775807), hashint8(-9223372036854775808);
SELECT hashbpchar('ab  '::char(4)), hashbpchar('ab'::char(9)), hashbpcharextended('ab  '::char(4), 9), hashtext('ab  ');
SELECT pg_try_advisory_xact_lock(hashtext('migrations')), pg_try_advisory_xact_lock(hashtextextended('migrations', 0));

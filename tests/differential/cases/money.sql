-- money: forms read, order, arithmetic, casts, aggregates, columns.
-- setup
CREATE TABLE mn_t (id integer, m money, n money DEFAULT '1.50');
INSERT INTO mn_t VALUES
  (1, '1234.56', 10), (2, '$1,000,000.005', '-0.01'), (3, NULL, NULL), (4, '-92233720368547758.08', '92233720368547758.07'), (5, '($3.10)', 0), (6, 0.125, 12345678901);
-- cases
SELECT * FROM mn_t;
-- ordered
SELECT id, m FROM mn_t ORDER BY m, id;
-- ordered
SELECT id, n FROM mn_t ORDER BY n DESC NULLS LAST;
SELECT a.id, b.id, a.m = b.m, a.m <> b.m, a.m < b.n, a.m <= b.m, a.m > b.m, a.m >= b.m FROM mn_t a, mn_t b;
SELECT '1'::money, '-1'::money, '$1'::money, '$-1'::money, '-$1'::money, '- $ 1'::money, ' $ 1.5 '::money, '(1.5)'::money, '+1'::money, '1-'::money, '1,2,3.4'::money, '1 $'::money, '.5'::money, '5.'::money;
SELECT '0.004'::money, '0.005'::money, '-0.005'::money, '0.0149'::money, '1.994999'::money, '1.999'::money, '0.05'::money, '12345.678'::money, '1,234'::money, ',1'::money;
SELECT ''::money, '$'::money, '-'::money, '  '::money, '1.2,3'::money, '1.23,4'::money, '()'::money;
-- error 22P02
SELECT '-(1)'::money;
SELECT '92233720368547758.07'::money, '-92233720368547758.08'::money;
-- error 22003
SELECT '92233720368547758.08'::money;
-- error 22003
SELECT '-92233720368547758.09'::money;
-- error 22003
SELECT '99999999999999999999'::money;
-- error 22P02
SELECT 'abc'::money;
-- error 22P02
SELECT '1.2.3'::money;
-- error 22P02
SELECT '1e5'::money;
-- error 22P02
SELECT '€1'::money;
-- error 22P02
SELECT '1 2'::money;
-- error 22P02
SELECT '--1'::money;
SELECT m + n, m - n, n + n FROM mn_t WHERE id NOT IN (4);
SELECT m * 2, 3 * m, m * 2::smallint, 2::bigint * m, m / 3, m / 7::smallint, m / 3::bigint, m / -2 FROM mn_t WHERE id <> 4;
SELECT m * 1.5::float8, 0.005::float8 * m, m * 1.1::float4, 0.3::real * m, m / 1.5::float8, m / 0.7::float4 FROM mn_t WHERE id <> 4;
SELECT '0.01'::money * 0.5::float8, '0.03'::money * 0.5::float8, '-0.01'::money * 0.5::float8, '0.01'::money / 2::float8, '123456789.12'::money * 1.1::float4, '123456789.12'::money / 1.1::float4;
SELECT m / n, n / m FROM mn_t WHERE id IN (1, 2, 6);
-- error 22012
SELECT m / 0 FROM mn_t;
-- error 22012
SELECT m / 0.0::float8 FROM mn_t;
-- error 22012
SELECT m / '0'::money FROM mn_t;
-- error 42883
SELECT m * m FROM mn_t;
-- error 42883
SELECT m + 1 FROM mn_t;
-- error 22003
SELECT m * 1.5 FROM mn_t;
-- error 42883
SELECT -m FROM mn_t;
-- error 22003
SELECT '92233720368547758.07'::money + '0.01';
-- error 22003
SELECT sum(n) FROM mn_t WHERE id IN (1, 4);
-- error 22003
SELECT '92233720368547758.07'::money * 2;
-- error 22003
SELECT '1'::money * 'NaN'::float8;
-- error 22003
SELECT '1'::money / 1e-300::float8;
SELECT 5::money, (-5)::money, 12345678901::money, 1.005::money, 1.015::numeric::money, (-2.675)::money, 0.1::numeric(5,3)::money, money(7), '12.5'::text::money;
SELECT id, id::money, (id * 1.115)::money, (id * 10000000000)::money FROM mn_t;
SELECT id, m::numeric, m::numeric(20,1), m::numeric * 2, m::text, m::varchar, length(m::text), m::numeric::float8, round(m::numeric) FROM mn_t WHERE id <> 4;
SELECT m::numeric FROM mn_t WHERE id = 4;
-- error 22003
SELECT 9223372036854775807::money;
-- error 22003
SELECT 92233720368547758.08::money;
-- error 42846
SELECT m::integer FROM mn_t;
-- error 42846
SELECT m::float8 FROM mn_t;
-- error 42846
SELECT 1.5::float8::money;
-- error 42846
SELECT 5::smallint::money;
SELECT sum(m), min(m), max(m), count(m), count(DISTINCT n) FROM mn_t WHERE id <> 4;
SELECT sum(m) FROM mn_t WHERE false;
SELECT id % 2, sum(n), max(m) FROM mn_t WHERE id <> 4 GROUP BY 1;
-- error 42883
SELECT avg(m) FROM mn_t;
SELECT n, count(*) FROM mn_t GROUP BY n;
SELECT DISTINCT m FROM mn_t;
SELECT id FROM mn_t WHERE m > '1,000' OR n = '$10.00' OR m = 0.13::numeric::money;
SELECT id FROM mn_t WHERE m BETWEEN '-5' AND '5' OR n IN ('10', '-0.01');
SELECT a.id, b.id FROM mn_t a JOIN mn_t b ON a.m = b.m;
SELECT m FROM mn_t UNION SELECT n FROM mn_t;
SELECT greatest(m, n), least(m, '0'), coalesce(m, '$1'), nullif(m, '-3.10'), CASE WHEN id > 2 THEN m ELSE n END FROM mn_t;
SELECT ARRAY[m, n, NULL], '{1,"$2,000.00",NULL}'::money[], (ARRAY[m, n])[2] FROM mn_t;
SELECT array_agg(m ORDER BY id), string_agg(n::text, '|' ORDER BY id) FROM mn_t;
SELECT to_json(m), to_jsonb(n), format('%s', m) FROM mn_t WHERE id = 1;
SELECT id, lag(m) OVER (ORDER BY id), sum(n) OVER (ORDER BY id ROWS 1 PRECEDING), rank() OVER (ORDER BY m) FROM mn_t WHERE id <> 4;
SELECT pg_typeof(m), pg_typeof(m * 2), pg_typeof(m / n), pg_typeof(m::numeric), pg_typeof(sum(m) OVER ()) FROM mn_t WHERE id = 1;
INSERT INTO mn_t (id, m) VALUES (7, 5), (8, 6.125), (9, '7'), (10, 8000000000) RETURNING *;
UPDATE mn_t SET m = m * 2, n = n / 3 WHERE id < 3 RETURNING id, m, n;
-- error 42804
INSERT INTO mn_t (id, m) VALUES (11, 1.5::float8);
CREATE TABLE mn_k (m money PRIMARY KEY, a money[] DEFAULT '{1.50}');
INSERT INTO mn_k VALUES (1), ('2.50');
-- error 23505
INSERT INTO mn_k VALUES ('1.001');
ALTER TABLE mn_k ADD COLUMN d money DEFAULT '-1,000';
SELECT * FROM mn_k;
SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'mn_t'::regclass AND attnum > 0;
SELECT cash_words('1.50'), cash_words('0'), cash_words('-0.01'), cash_words('1'), cash_words('21.21'), cash_words('100.10'), cash_words('101'), cash_words('1000'), cash_words('1234567.89'), cash_words('1000000000000.20'), cash_words('92233720368547758.07'), cash_words('-92233720368547758.08'), cash_words('110.30'), cash_words('999.99'), cash_words('20');
SELECT cash_words(m) FROM mn_t;

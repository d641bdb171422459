-- What analysts type: functions of text, dates, numbers, arrays, JSON and windows together, over orders and visits.
-- setup
CREATE TABLE an_c (id int PRIMARY KEY, name text NOT NULL, email text, city varchar(20), joined date, tags text[], attrs jsonb, credit numeric(10,2));
INSERT INTO an_c VALUES
  (1, 'Ada Lovelace', 'ada@example.com', 'London', '2019-12-10', '{vip,math}', '{"age": 36, "lang": ["en", "fr"], "addr": {"zip": "N1"}}', 1000.00),
  (2, 'grace hopper', 'Grace.Hopper@navy.mil', 'New York', '2020-02-29', '{navy}', '{"age": 45, "lang": ["en"], "addr": {"zip": "10001"}}', 250.50),
  (3, 'Linus T.', NULL, 'Helsinki', '2020-12-31', '{}', '{"age": null, "lang": []}', 0),
  (4, 'Łukasz Żak', 'lz@example.co.uk', 'Łódź', '2021-01-01', NULL, NULL, NULL),
  (5, 'O''Brien, Pat', 'pat+news@example.com', 'Dublin', '2021-07-15', '{vip,NULL}', '{"age": 29.5, "addr": {}}', -12.34),
  (6, 'ada smith', 'ADA@EXAMPLE.COM', 'london', '2023-03-31', '{math,vip}', '{"age": 36.0, "lang": ["de", "en"]}', 99999999.99);
CREATE TABLE an_o (id int, customer int, at timestamp, amount numeric(12,3), qty smallint, unit_price float8, status text, items text[], note json, took interval);
INSERT INTO an_o VALUES
  (101, 1, '2024-01-01 00:00:00', 10.500, 3, 3.5, 'paid', '{book,pen}', '{"gift": true, "lines": [{"sku": "A", "n": 2}, {"sku": "B", "n": 1}]}', '2 days 03:04:05'),
  (102, 1, '2024-01-15 13:45:30.5', 200, 1, 200, 'paid', '{lamp}', '{"gift": false, "lines": [{"sku": "C", "n": 1}]}', '1 mon'),
  (103, 2, '2024-02-29 23:59:59.999999', 0.005, 10, 0.0005, 'open', '{}', NULL, '00:00:01.5'),
  (104, 2, '2024-03-31 02:30:00', 99.990, NULL, NULL, 'cancelled', NULL, '{"lines": []}', NULL),
  (105, 3, '2024-03-31 02:30:00', -5.250, 1, -5.25, 'refund', '{book}', '{"lines": null}', '-1 days'),
  (106, 5, '2023-12-31 12:00:00', 1234567.891, 32767, 37.677, 'paid', '{pen,pen,ink}', '[]', '1 year 2 mons'),
  (107, NULL, NULL, NULL, 0, 'NaN', NULL, '{NULL}', '"x"', '36:00:00'),
  (108, 6, '2024-12-30 08:15:00', 50.125, 5, 10.025, 'paid', '{ink,book}', '{"lines": [{"sku": "A", "n": 5}]}', '7 days'),
  (109, 6, '2025-01-05 20:00:00', 50.125, 5, 10.025, 'paid', '{book,ink}', '{"lines": [{"sku": "D", "n": 1.5}]}', '00:45:00'),
  (110, 6, '2025-01-06 20:00:00', 75, 3, 25, 'open', '{desk}', '{"lines": [{"sku": "A"}]}', '3 days 12:00:00');
-- cases
SELECT initcap(name), upper(left(city, 3)), length(name), octet_length(name), reverse(city) FROM an_c;
SELECT split_part(email, '@', 2) AS domain, count(*), string_agg(name, '; ' ORDER BY id) FROM an_c GROUP BY 1;
SELECT lower(email) AS e, count(*) FROM an_c GROUP BY lower(email) HAVING count(*) > 1;
SELECT id, regexp_replace(email, '^(.).*@', '\1***@') FROM an_c;
SELECT id, position('@' IN email), substring(email FROM '@(.+)$'), strpos(name, 'a'), translate(name, 'aeiou', '*****') FROM an_c;
SELECT id, format('%s <%s> owes %s', name, coalesce(email, 'n/a'), to_char(credit, 'FM999G999G990D00')) FROM an_c;
SELECT id, format('%-12s|%5s|%L|%I', name, id, city, city) FROM an_c;
SELECT id, concat_ws(', ', nullif(name, 'Linus T.'), city, email), name || ' / ' || city FROM an_c;
SELECT id, lpad(id::text, 5, '0'), rpad(city, 10, '.'), repeat('*', id), btrim('  ' || city || '  '), ltrim(city, 'Ll') FROM an_c;
SELECT id, name SIMILAR TO '%(ada|Linus)%', name ILIKE 'ada%', name ~ '^[[:upper:]]', city LIKE 'L_ndon' FROM an_c;
SELECT id, array_length(regexp_split_to_array(name, '\s+'), 1), (string_to_array(name, ' '))[1], array_to_string(tags, '|', '?') FROM an_c;
SELECT id, md5(email), encode(convert_to(city, 'UTF8'), 'hex'), ascii(city), chr(65 + id), quote_literal(name), quote_ident(city) FROM an_c;
SELECT id, overlay(name PLACING 'XX' FROM 2 FOR 3), starts_with(city, 'L'), right(name, -3), left(name, -3) FROM an_c;
SELECT id, to_hex(id * 255), name COLLATE "C" < 'b', char_length(trim(both 'a' from name)) FROM an_c;
-- ordered
SELECT name FROM an_c ORDER BY lower(name), id DESC;
-- ordered
SELECT name, city FROM an_c ORDER BY length(city) DESC, city COLLATE "C";
SELECT word, count(*) FROM an_c, regexp_split_to_table(lower(name), '[^a-z]+') AS word WHERE word <> '' GROUP BY word;
SELECT id, string_agg(initcap(w), ' ' ORDER BY n) FROM an_c, unnest(string_to_array(name, ' ')) WITH ORDINALITY AS u(w, n) GROUP BY id;
SELECT date_trunc('month', at) AS m, count(*), sum(amount), round(avg(amount), 2), min(at), max(at) FROM an_o GROUP BY 1;
SELECT extract(year FROM at) AS y, extract(quarter FROM at) AS q, count(*) FILTER (WHERE status = 'paid') AS paid, count(*) AS n FROM an_o GROUP BY ROLLUP (1, 2);
SELECT to_char(at, 'YYYY-MM') AS ym, to_char(at, 'Dy, DD Mon'), to_char(at, 'IYYY-"W"IW'), to_char(at, 'HH12:MI AM'), to_char(at, 'DDD J Q') FROM an_o;
SELECT id, at::date, at::time(0), at - interval '1 month', at + took, date_part('dow', at), extract(isodow FROM at), extract(week FROM at), extract(isoyear FROM at) FROM an_o;
SELECT id, age(timestamp '2025-01-10', at), timestamp '2025-01-10' - at, date '2025-01-10' - at::date, justify_interval(timestamp '2025-01-10' - at) FROM an_o;
SELECT id, extract(epoch FROM took), extract(day FROM took), to_char(took, 'DD HH24:MI:SS.MS'), took * 2, took / 3, justify_hours(took), -took FROM an_o;
SELECT sum(took), avg(took), max(took), min(took), count(took) FROM an_o;
SELECT status, sum(took) OVER (PARTITION BY status ORDER BY id) FROM an_o;
SELECT d::date, count(o.id), coalesce(sum(o.amount), 0) FROM generate_series(date '2024-01-01', date '2024-03-31', interval '1 month') AS d LEFT JOIN an_o AS o ON date_trunc('month', o.at) = d GROUP BY d;
SELECT id, joined, joined + 30, joined - 1, joined + interval '1 month', date_trunc('quarter', joined)::date, (date_trunc('month', joined) + interval '1 month - 1 day')::date FROM an_c;
SELECT id, extract(year FROM age(date '2024-02-29', joined)), date '2024-02-29' - joined, joined BETWEEN '2020-01-01' AND '2020-12-31', (joined, joined + 60) OVERLAPS (date '2020-03-01', date '2020-04-01') FROM an_c;
SELECT id, make_date(extract(year FROM joined)::int, 12, 25), isfinite(joined), joined = 'epoch', to_date(to_char(joined, 'DDMMYYYY'), 'DDMMYYYY') FROM an_c;
SELECT id, at AT TIME ZONE 'UTC' AT TIME ZONE 'America/New_York', (at AT TIME ZONE 'Europe/Warsaw')::date FROM an_o;
SELECT date_bin('15 minutes', at, timestamp '2024-01-01'), count(*) FROM an_o GROUP BY 1;
SELECT width_bucket(amount, 0, 100, 4), count(*), min(amount), max(amount) FROM an_o GROUP BY 1;
SELECT id, round(amount, 1), round(amount), trunc(amount, 2), ceil(amount), floor(amount), amount % 7, mod(amount, 0.3), div(amount, 7), abs(amount), sign(amount) FROM an_o;
SELECT id, amount / qty, amount::float8 / nullif(qty, 0), qty * unit_price, unit_price::numeric(10,2), round(unit_price::numeric, 1), qty / 2, qty::numeric / 3 FROM an_o WHERE qty <> 0 AND id <> 107;
SELECT id, amount * 1.23, amount * 0.1, round(amount * 1.2345, 3), (amount * 100)::int, amount::text, amount::numeric(14,1), cast(amount AS int) FROM an_o;
SELECT sum(amount), avg(amount), stddev(amount), variance(amount), stddev_pop(amount), count(amount), min(amount), max(amount), sum(qty), avg(qty) FROM an_o;
SELECT sum(unit_price), avg(unit_price), min(unit_price), max(unit_price), stddev_samp(unit_price) FROM an_o WHERE id <> 107;
SELECT corr(qty, unit_price), regr_slope(amount, qty), regr_r2(amount, qty), covar_samp(amount, qty), regr_count(amount, qty) FROM an_o WHERE id <> 107;
SELECT status, percentile_cont(0.5) WITHIN GROUP (ORDER BY amount), percentile_disc(0.5) WITHIN GROUP (ORDER BY amount), mode() WITHIN GROUP (ORDER BY qty) FROM an_o GROUP BY status;
SELECT percentile_cont(ARRAY[0.25, 0.5, 0.75]) WITHIN GROUP (ORDER BY amount), percentile_disc(ARRAY[0, 1]) WITHIN GROUP (ORDER BY at), percentile_cont(0.9) WITHIN GROUP (ORDER BY took) FROM an_o;
SELECT power(2, 10), power(2.0, 0.5), sqrt(2), exp(1.0), ln(10.0), log(100), log(2.0, 64.0), cbrt(27), pi(), degrees(pi()), radians(180), gcd(12, 18), lcm(4, 6), factorial(10);
SELECT 7 / 2, -7 / 2, 7 % -2, 7.0 / 2, 1 / 3.0, 10 ^ 2, 2 ^ 0.5, |/ 16, @ -5, 5 & 3, 5 | 3, 5 # 3, ~5, 1 << 4, 256 >> 2;
SELECT 0.1 + 0.2, 0.1::float8 + 0.2::float8, 0.1::real + 0.2::real, 1e3, 1.50 * 2.0, 100 * 1.1, 1.0 / 3 * 3, 22.0 / 7, 1e-7::float8, 123456789012345678::float8;
SELECT to_char(1234.5, '9,999.99'), to_char(-0.5, '0.00'), to_char(0, '999'), to_char(1234567, 'FM9,999,999'), to_char(12, '0000'), to_char(0.126, '990D99%'), to_char(15, 'RN'), to_char(-5, '9S'), to_char(-5, '999PR'), to_char(1e6, '9.99EEEE');
SELECT to_number('1,234.56', '9G999D99'), to_number('-12', 'S99'), '12.50'::numeric, ' 7 '::int, '1e2'::float8, '0x1F'::int, '1_000'::int, true::int, 3::bool, 'yes'::bool;
SELECT id, row_number() OVER w, rank() OVER w, dense_rank() OVER w, percent_rank() OVER w, cume_dist() OVER w, ntile(3) OVER w FROM an_o WINDOW w AS (ORDER BY amount DESC NULLS LAST, id);
SELECT id, customer, amount, lag(amount) OVER c, lead(amount, 1, 0) OVER c, first_value(id) OVER c, last_value(id) OVER c, nth_value(id, 2) OVER c FROM an_o WINDOW c AS (PARTITION BY customer ORDER BY at, id);
SELECT id, sum(amount) OVER (ORDER BY id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW), avg(amount) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING), count(*) OVER (ORDER BY at RANGE BETWEEN interval '30 days' PRECEDING AND CURRENT ROW) FROM an_o;
SELECT id, round(100.0 * amount / sum(amount) OVER (), 2) AS pct, amount - avg(amount) OVER (PARTITION BY status) AS diff, max(at) OVER (PARTITION BY customer) = at AS latest FROM an_o;
SELECT customer, id, sum(amount) OVER (PARTITION BY customer ORDER BY at, id) AS running, count(*) OVER (PARTITION BY customer), array_agg(id) OVER (PARTITION BY customer ORDER BY id) FROM an_o;
SELECT * FROM (SELECT o.*, row_number() OVER (PARTITION BY customer ORDER BY at DESC, id DESC) AS rn FROM an_o AS o) AS s WHERE rn = 1;
SELECT DISTINCT ON (customer) customer, id, amount FROM an_o ORDER BY customer, at DESC, id DESC;
SELECT id, at, at - lag(at) OVER (ORDER BY at, id) AS gap, sum(CASE WHEN at - lag >= interval '14 days' THEN 1 ELSE 0 END) OVER (ORDER BY at, id) AS grp FROM (SELECT id, at, lag(at) OVER (ORDER BY at, id) FROM an_o WHERE at IS NOT NULL) AS s;
SELECT status, sum(sum(amount)) OVER (ORDER BY sum(amount) DESC NULLS LAST), rank() OVER (ORDER BY count(*) DESC, status) FROM an_o GROUP BY status;
SELECT c.name, count(o.id), coalesce(sum(o.amount), 0)::numeric(14,2), bool_or(o.status = 'open'), every(o.amount > 0) FROM an_c AS c LEFT JOIN an_o AS o ON o.customer = c.id GROUP BY c.id, c.name;
SELECT c.city, array_agg(DISTINCT o.status ORDER BY o.status), array_agg(o.id ORDER BY o.amount DESC NULLS LAST, o.id), string_agg(DISTINCT o.status, ',' ORDER BY o.status DESC) FROM an_c AS c JOIN an_o AS o ON o.customer = c.id GROUP BY c.city;
SELECT id, 'vip' = ANY(tags), tags @> '{vip}', tags && ARRAY['navy', 'math'], cardinality(tags), array_position(tags, 'vip'), tags[1], tags[array_upper(tags, 1)], tags || 'x'::text, array_remove(tags, NULL) FROM an_c;
SELECT tag, count(*), min(c.name) FROM an_c AS c CROSS JOIN unnest(c.tags) AS tag GROUP BY tag;
SELECT id, (SELECT array_agg(DISTINCT t ORDER BY t) FROM unnest(tags) AS t) AS sorted, ARRAY(SELECT upper(t) FROM unnest(tags) AS t) FROM an_c;
SELECT item, count(*) AS n, sum(amount) FROM an_o, unnest(items) AS item GROUP BY item ORDER BY n DESC, item LIMIT 3;
SELECT id, items, array_cat(items, ARRAY['z']), items[1:2], array_replace(items, 'pen', 'pencil'), items = ARRAY['book', 'ink'], items < ARRAY['c'] FROM an_o;
SELECT o.id, i.item, i.n FROM an_o AS o LEFT JOIN LATERAL unnest(o.items) WITH ORDINALITY AS i(item, n) ON true;
SELECT id, attrs ->> 'age', (attrs ->> 'age')::numeric + 1, attrs #>> '{addr,zip}', attrs -> 'lang' ->> 0, jsonb_array_length(attrs -> 'lang'), attrs ? 'lang', attrs @> '{"lang": ["en"]}', jsonb_typeof(attrs -> 'age') FROM an_c;
SELECT lang, count(*) FROM an_c, jsonb_array_elements_text(attrs -> 'lang') AS lang GROUP BY lang;
SELECT attrs -> 'age' AS age, count(*), min(id) FROM an_c GROUP BY attrs -> 'age' HAVING count(*) > 1;
SELECT id, key, value FROM an_c, jsonb_each(attrs) WHERE key <> 'lang';
SELECT id, jsonb_set(attrs, '{addr,zip}', '"X"'), attrs - 'lang', attrs || '{"new": [1, 2]}', attrs #- '{addr,zip}', jsonb_strip_nulls(attrs) FROM an_c;
SELECT o.id, l ->> 'sku' AS sku, (l ->> 'n')::numeric AS n FROM an_o AS o, json_array_elements(CASE WHEN json_typeof(o.note -> 'lines') = 'array' THEN o.note -> 'lines' ELSE '[]' END) AS l;
SELECT sku, sum(n), count(*) FROM an_o AS o, json_to_recordset(CASE WHEN json_typeof(o.note -> 'lines') = 'array' THEN o.note -> 'lines' ELSE '[]' END) AS l(sku text, n numeric) GROUP BY sku;
SELECT json_agg(json_build_object('id', id, 'city', city) ORDER BY id), jsonb_object_agg(id, name ORDER BY id) FROM an_c WHERE id < 4;
SELECT row_to_json(c), to_jsonb(c.tags), json_build_array(c.id, c.credit, c.joined, NULL), jsonb_build_object('c', c.credit, 't', c.tags) FROM an_c AS c WHERE id < 3;
SELECT id, jsonb_path_query_array(attrs, '$.lang[*] ? (@ starts with "e")'), jsonb_path_exists(attrs, '$.age ? (@ > 30)'), attrs @@ '$.age < 40' FROM an_c;
SELECT status, jsonb_agg(DISTINCT qty ORDER BY qty), json_object_agg(id, amount ORDER BY id) FROM an_o WHERE status IS NOT NULL GROUP BY status;
SELECT CASE WHEN amount >= 100 THEN 'big' WHEN amount > 0 THEN 'small' WHEN amount IS NULL THEN 'none' ELSE 'neg' END AS size, count(*), sum(amount) FROM an_o GROUP BY 1;
SELECT id, coalesce(qty, 0), nullif(qty, 1), greatest(qty, 2, 3), least(amount, 50), amount IS DISTINCT FROM 50.125, status IN ('paid', 'open'), status NOT IN ('paid', NULL) FROM an_o;
SELECT status, count(*), count(*) * 100.0 / sum(count(*)) OVER () AS share, grouping(status) FROM an_o GROUP BY GROUPING SETS ((status), ());
SELECT city, date_part('year', joined) AS y, count(*), sum(credit) FROM an_c GROUP BY CUBE (city, 2);
WITH monthly AS (SELECT date_trunc('month', at)::date AS m, sum(amount) AS s FROM an_o WHERE at IS NOT NULL GROUP BY 1) SELECT m, s, s - lag(s) OVER (ORDER BY m) AS delta, round((s / nullif(lag(s) OVER (ORDER BY m), 0) - 1) * 100, 1) AS pct FROM monthly;
WITH RECURSIVE days AS (SELECT date '2024-02-27' AS d UNION ALL SELECT d + 1 FROM days WHERE d < '2024-03-02') SELECT d, to_char(d, 'Day'), extract(doy FROM d) FROM days;
WITH paid AS (SELECT * FROM an_o WHERE status = 'paid'), top AS (SELECT customer, sum(amount) AS total FROM paid GROUP BY customer ORDER BY total DESC LIMIT 2) SELECT c.name, t.total, (SELECT count(*) FROM paid p WHERE p.customer = c.id) FROM top t JOIN an_c c ON c.id = t.customer;
SELECT name FROM an_c AS c WHERE EXISTS (SELECT 1 FROM an_o AS o WHERE o.customer = c.id AND o.amount > (SELECT avg(amount) FROM an_o WHERE customer = c.id));
SELECT name FROM an_c WHERE id NOT IN (SELECT customer FROM an_o WHERE customer IS NOT NULL);
SELECT name, (SELECT max(at) FROM an_o WHERE customer = an_c.id) AS last, (SELECT string_agg(status, ',' ORDER BY id) FROM an_o WHERE customer = an_c.id) FROM an_c;
SELECT a.id, b.id, a.amount FROM an_o AS a JOIN an_o AS b ON a.amount = b.amount AND a.id < b.id;
SELECT a.name, b.name FROM an_c AS a JOIN an_c AS b ON lower(a.email) = lower(b.email) AND a.id <> b.id;
SELECT coalesce(c.name, 'unknown'), o.id FROM an_o AS o FULL JOIN an_c AS c ON o.customer = c.id AND o.status = 'paid';
SELECT c.name, o.* FROM an_c AS c CROSS JOIN LATERAL (SELECT id, amount FROM an_o WHERE customer = c.id ORDER BY amount DESC NULLS LAST LIMIT 1) AS o;
SELECT id FROM an_o WHERE (customer, status) IN (SELECT customer, status FROM an_o GROUP BY customer, status HAVING count(*) > 1);
SELECT id FROM an_o WHERE at >= '2024-01-01' AND at < date '2024-01-01' + interval '3 months' AND amount BETWEEN 0 AND 100;
SELECT status FROM an_o UNION SELECT city FROM an_c EXCEPT SELECT 'paid' ORDER BY 1 NULLS FIRST;
SELECT count(*), count(DISTINCT status), count(DISTINCT (customer, status)), count(DISTINCT items), count(DISTINCT took) FROM an_o;
SELECT mode() WITHIN GROUP (ORDER BY status), rank(50) WITHIN GROUP (ORDER BY amount), bit_and(qty), bit_or(qty), array_agg(DISTINCT qty) FROM an_o;
SELECT x, x::int, round(x), round(x::numeric), trunc(x), floor(x) FROM (VALUES (0.5::float8), (1.5), (2.5), (-0.5), (-1.5), (1e9 + 0.3)) AS v(x);
SELECT 'NaN'::float8 = 'NaN', 'Infinity'::float8 > 1e308, '-0'::float8, 1e308::float8 * 1, 'NaN'::float8 > 'Infinity', least('NaN'::float8, 1);
SELECT pg_typeof(1), pg_typeof(1.0), pg_typeof(sum(amount)), pg_typeof(sum(qty)), pg_typeof(avg(qty)), pg_typeof(count(*)), pg_typeof(max(at) - min(at)), pg_typeof(array_agg(id)), pg_typeof(now()) FROM an_o;
SELECT generate_series(1, 3) AS a, unnest(ARRAY['x', 'y']) AS b, id FROM an_c WHERE id = 1;
SELECT s.d, s.d::date, extract(dow FROM s.d) FROM generate_series(timestamp '2024-03-30', '2024-04-01', '12 hours') AS s(d);
SELECT n, n * n, sum(n) OVER (ORDER BY n), array_agg(n) OVER (ORDER BY n ROWS 2 PRECEDING) FROM generate_series(1, 6) AS n;
SELECT i, j FROM generate_series(1, 3) AS i, generate_series(i, 3) AS j;
SELECT lo, count(o.id) FROM generate_series(0, 200, 50) AS lo LEFT JOIN an_o AS o ON o.amount >= lo AND o.amount < lo + 50 GROUP BY lo;
SELECT r, count(*) FROM an_o, (VALUES (numrange(0, 50)), (numrange(50, 100, '[]')), (numrange(NULL, 0))) AS v(r) WHERE amount <@ r GROUP BY r;
SELECT daterange(joined, joined + 90) && daterange('2020-01-01', '2020-06-01'), upper(daterange(joined, joined, '[]')) - joined, joined <@ '[2020-01-01,2021-01-01)'::daterange FROM an_c;
SELECT id, name FROM an_c WHERE name > 'M' ORDER BY id;
SELECT id, substr(name, 2, 3), substring(name from 2), substring(name for 3), substring(name, '[A-Z]\w+$'), regexp_count(name, '[aeiou]', 1, 'i'), regexp_instr(name, 'a') FROM an_c;
SELECT id, CASE city WHEN 'London' THEN 1 WHEN 'london' THEN 2 END, city = 'London ', length('a  '::char(5)), 'a  '::char(5) = 'a', 'a'::varchar(3) || 'b' FROM an_c;
SELECT min(name), max(name), min(city), max(joined), min(tags), max(tags) FROM an_c;
SELECT tags, count(*) FROM an_c GROUP BY tags ORDER BY tags NULLS FIRST;
SELECT o.status, c.city, sum(o.amount) FROM an_o o JOIN an_c c ON c.id = o.customer GROUP BY GROUPING SETS ((o.status, c.city), (o.status), ()) ORDER BY 1 NULLS LAST, 2 NULLS LAST, 3;
SELECT sum(amount) FILTER (WHERE extract(month FROM at) = 1) AS jan, sum(amount) FILTER (WHERE extract(month FROM at) = 3) AS mar, avg(amount) FILTER (WHERE false) FROM an_o;
SELECT EXTRACT(epoch FROM at)::bigint, to_timestamp(1704067200), to_timestamp(1704067200.5) AT TIME ZONE 'UTC', timestamp 'epoch' + 1704067200 * interval '1 second' FROM an_o WHERE id = 101;
SELECT to_timestamp('05 Dec 2000', 'DD Mon YYYY')::date, to_timestamp('2024-02-29 13:14:15.678', 'YYYY-MM-DD HH24:MI:SS.MS')::timestamp, to_date('20240229', 'YYYYMMDD'), to_date('29/2/24', 'DD/MM/YY');
SELECT interval '1 day 2 hours' + interval '30 minutes', interval '90 minutes', interval '1 month' > interval '29 days', interval '1.5 days', interval '-1 year +2 months', interval 'P1Y2M3DT4H5M6S', 5 * interval '1 day', interval '1 day' / 4;
SELECT date '2024-01-31' + interval '1 month', date '2024-03-31' - interval '1 month', timestamp '2023-02-28' + interval '1 year', age(timestamp '2024-03-01', timestamp '2024-01-31'), date_part('day', timestamp '2024-03-01' - timestamp '2024-02-01');
-- error 22012
SELECT amount / (qty - qty) FROM an_o;
-- error 22P02
SELECT name::int FROM an_c;
-- error 22003
SELECT (amount * 1000000)::int FROM an_o;
-- error 42803
SELECT city, name, count(*) FROM an_c GROUP BY city;
-- error 42883
SELECT name + 1 FROM an_c;
-- error 42703
SELECT nmae FROM an_c;
-- error 22008
SELECT date '2024-02-30';
-- error 42804
SELECT CASE WHEN true THEN 1 ELSE 'a'::text END;
-- error 21000
SELECT (SELECT id FROM an_o WHERE customer = 6);
-- error 42702
SELECT id FROM an_c, an_o;
-- error 22P02
SELECT attrs::text::int FROM an_c;
-- error 22007
SELECT 'tomorrowish'::date;

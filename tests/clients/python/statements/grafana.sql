-- 12

-- connect: alive
SELECT 1

-- connect: version
SELECT current_setting('server_version_num')::int/100 as version

-- connect: is TimescaleDB there
SELECT extversion FROM pg_extension WHERE extname = 'timescaledb'

-- metadata: schemas
SELECT schema_name AS "name" FROM information_schema.schemata WHERE schema_name NOT IN ('information_schema', 'pg_catalog', 'pg_toast', '_timescaledb_cache', 'timescaledb_information') ORDER BY schema_name

-- metadata: tables of a schema
SELECT quote_ident(table_name) AS "table" FROM information_schema.tables WHERE quote_ident(table_schema) = 'sales' ORDER BY 1

-- metadata: tables, those of the search path first
SELECT CASE WHEN quote_ident(table_schema) IN (SELECT CASE WHEN trim(s[i]) = '"$user"' THEN user ELSE trim(s[i]) END FROM generate_series(array_lower(string_to_array(current_setting('search_path'), ','), 1), array_upper(string_to_array(current_setting('search_path'), ','), 1)) as i, string_to_array(current_setting('search_path'), ',') s) THEN quote_ident(table_name) ELSE quote_ident(table_schema) || '.' || quote_ident(table_name) END AS "table" FROM information_schema.tables WHERE quote_ident(table_schema) NOT IN ('information_schema', 'pg_catalog', '_timescaledb_cache', 'timescaledb_information') ORDER BY CASE WHEN quote_ident(table_schema) IN (SELECT CASE WHEN trim(s[i]) = '"$user"' THEN user ELSE trim(s[i]) END FROM generate_series(array_lower(string_to_array(current_setting('search_path'), ','), 1), array_upper(string_to_array(current_setting('search_path'), ','), 1)) as i, string_to_array(current_setting('search_path'), ',') s) THEN 0 ELSE 1 END, 1

-- metadata: columns of a table
SELECT quote_ident(column_name) AS "column", data_type AS "type" FROM information_schema.columns WHERE CASE WHEN array_length(parse_ident('sales.customers'), 1) = 2 THEN quote_ident(table_schema) = (parse_ident('sales.customers'))[1] AND quote_ident(table_name) = (parse_ident('sales.customers'))[2] ELSE quote_ident(table_name) = 'sales.customers' AND quote_ident(table_schema) IN (SELECT CASE WHEN trim(s[i]) = '"$user"' THEN user ELSE trim(s[i]) END FROM generate_series(array_lower(string_to_array(current_setting('search_path'), ','), 1), array_upper(string_to_array(current_setting('search_path'), ','), 1)) as i, string_to_array(current_setting('search_path'), ',') s) END

-- queries: a time series by $__timeGroupAlias and $__timeFilter
SELECT floor(extract(epoch from at)/300)*300 AS "time", sum(amount) AS value FROM sales.orders WHERE at BETWEEN '2018-04-12T18:00:00Z' AND '2018-04-12T18:10:00Z' GROUP BY 1 ORDER BY 1

-- queries: a time series with a metric, of days
SELECT floor(extract(epoch from at)/86400)*86400 AS "time", customer::text AS metric, avg(amount) AS "average amount" FROM sales.orders WHERE at BETWEEN '2018-04-12T18:00:00.5Z' AND '2018-06-12T18:10:00.123456789Z' GROUP BY time, metric ORDER BY time

-- queries: of a column with time zone
SELECT joined AS "time", balance FROM sales.customers WHERE joined BETWEEN '2018-04-12T18:00:00Z' AND '2018-04-12T18:05:00Z' ORDER BY 1

-- queries: in milliseconds
SELECT floor(extract(epoch from joined)/0.02)*0.02 AS "time", count(*) FROM sales.customers GROUP BY 1 ORDER BY 1

-- queries: $__timeEpoch
SELECT extract(epoch from at) as "time", amount FROM sales.orders ORDER BY 1

-- queries: $__unixEpochFilter and $__unixEpochGroupAlias
SELECT floor((id)/300)*300 AS "time", sum(amount) AS value FROM sales.orders WHERE id >= 0 AND id <= 1523556300 GROUP BY 1 ORDER BY 1

-- queries: $__unixEpochNanoFilter
SELECT id AS "time", amount FROM sales.orders WHERE id >= 1 AND id <= 1523556300500000000 ORDER BY 1

-- queries: $__timeFrom and $__timeTo
SELECT '2018-04-12T18:00:00Z' AS "from", '2018-04-12T18:05:00Z'::timestamptz - '2018-04-12T18:00:00Z'::timestamptz AS "long"

-- queries: date_trunc as a time column
SELECT date_trunc('hour', at) AS time, count(*) AS "orders", max(amount) FROM sales.orders WHERE at BETWEEN '2018-04-12T18:00:00Z' AND '2018-06-12T18:10:00Z' GROUP BY 1 ORDER BY 1

-- queries: of the query builder
SELECT SUM(amount), customer FROM sales.orders WHERE (customer = 1 AND amount > 1.5) GROUP BY customer ORDER BY customer DESC LIMIT 50

-- queries: values of a variable
SELECT DISTINCT name AS "__text", id AS "__value" FROM sales.customers WHERE name IN ('Ann', 'Bob') AND name ILIKE '%n%' ORDER BY 1

-- queries: a table with every type
SELECT * FROM sales.customers ORDER BY id LIMIT 50

-- queries: a time that is a text
SELECT to_timestamp(1523556300) AS "time", 'a' AS metric, 1::float8 AS value

-- queries: gaps filled
SELECT t AS "time", coalesce(sum(o.amount), 0) AS value FROM generate_series('2018-04-12 18:00:00'::timestamp, '2018-04-12 18:10:00', '5 minutes') t LEFT JOIN sales.orders o ON o.at >= t AND o.at < t + interval '5 minutes' GROUP BY t ORDER BY t

-- queries: logs, in the order of time
SELECT joined AS time, name AS message, lower(mood::text) AS level FROM sales.customers ORDER BY joined DESC LIMIT 1000

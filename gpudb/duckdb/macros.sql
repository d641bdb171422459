-- Macros that the templates of gpudb.functions call. DuckDB substitutes a macro's operands at each reference: templates
-- bind them first (functions/let_binding.py), or the macro does with a lambda: list_transform([x], lambda v: ...)[1].
-- Fields of a lambda's parameter are written (p).x: HAVING resolves p.x as a column.

-- ---------------------------------------------------------------------------------------------- errors

-- Raises an error by a cast that fails. DuckDB's error() is volatile, and a volatile function in a correlated subquery
-- prevents its conversion into a join; a cast does not.
CREATE MACRO pg_error(state, message) AS CAST(CAST('[' || state || '] ' || message AS INTEGER) AS VARCHAR);

-- The end of a series that is built as a list; an error if the list would be too large for memory.
CREATE MACRO pg_series_end(start, finish, step) AS CASE
    WHEN (finish::HUGEINT - start) * sign(step) > 100000000 * abs(step::HUGEINT)
        THEN CAST(pg_error('54000', 'a set of more than 100000000 rows is not made at once') AS BIGINT)
    ELSE finish END;

-- A field in a row's text: empty for NULL, quoted if necessary.
CREATE MACRO pg_record_item(t) AS list_transform([t], lambda v: CASE WHEN v IS NULL THEN ''
    WHEN v = '' OR regexp_matches(v, '[ \t\n\r\v\f(),"\\]') THEN '"' || replace(replace(v, '\', '\\'), '"', '""') || '"'
    ELSE v END)[1];

-- The row count of LIMIT or OFFSET: NULL means no limit or offset.
CREATE MACRO pg_row_count(n, clause) AS CASE
    WHEN n < 0 THEN pg_error(CASE clause WHEN 'LIMIT' THEN '2201W' ELSE '2201X' END, clause || ' must not be negative')
        ::BIGINT
    WHEN n IS NULL THEN CASE clause WHEN 'LIMIT' THEN 9223372036854775807 ELSE 0 END
    ELSE n END;

-- The offset of a ROWS or GROUPS frame.
CREATE MACRO pg_frame_rows(n, edge) AS CASE
    WHEN n IS NULL THEN pg_error('22004', 'frame ' || edge || ' offset must not be null')::BIGINT
    WHEN n < 0 THEN pg_error('22013', 'frame ' || edge || ' offset must not be negative')::BIGINT
    ELSE n END;

-- Checks a sum of squares of floats, or what is computed of one, for overflow; `one` is any of the values.
CREATE MACRO pg_moment(moment, one) AS CASE
    WHEN isinf(moment) THEN CAST(pg_error('22003', 'value out of range: overflow') AS DOUBLE)
    ELSE moment + 0 * one END;

-- DuckDB's greatest() ignores NULLs.
CREATE MACRO pg_at_least(x, low) AS CASE WHEN x < low THEN low ELSE x END;

-- ---------------------------------------------------------------------------------------------- shifts

-- PostgreSQL takes the count modulo the width, and drops bits at the left.
CREATE MACRO pg_wrap32(n) AS CAST(CASE WHEN n >= 2147483648 THEN n - 4294967296 ELSE n END AS INTEGER);
CREATE MACRO pg_shl32(n, k) AS pg_wrap32(((CAST(n AS HUGEINT) & 4294967295) << (k & 31)) & 4294967295);
CREATE MACRO pg_shl16(n, k) AS list_transform([pg_shl32(n, k) & 65535], lambda v:
    CAST(CASE WHEN v >= 32768 THEN v - 65536 ELSE v END AS SMALLINT))[1];
CREATE MACRO pg_shr(n, k, width) AS list_transform([n], lambda v:
    CASE WHEN v >= 0 THEN v >> (k & (width - 1)) ELSE ~((~v) >> (k & (width - 1))) END)[1];
CREATE MACRO pg_shl64(n, k) AS list_transform(
    [(CAST(n AS HUGEINT) & 18446744073709551615::HUGEINT) * (1::HUGEINT << (k & 63)) & 18446744073709551615::HUGEINT],
    lambda v: CAST(CASE WHEN v >= 9223372036854775808 THEN v - 18446744073709551616::HUGEINT ELSE v END AS BIGINT))[1];

-- ---------------------------------------------------------------------------------------------- numeric

CREATE MACRO pg_ten_to(n) AS CAST('1' || repeat('0', CAST(n AS INTEGER)) AS HUGEINT);

-- The digits of a decimal with `scale` decimals, as one integer.
CREATE MACRO pg_unscaled(v, scale) AS CAST(replace(CAST(v AS VARCHAR), '.', '') AS HUGEINT);

-- A product's digits, rounded to a scale.
CREATE MACRO pg_numeric_product(x, y, scale, rounds) AS
    pg_wide_product(CAST(x AS VARCHAR), CAST(y AS VARCHAR), scale, rounds);

-- A decimal's text at PostgreSQL's display scale `shown`; `held` is its own scale.
CREATE MACRO pg_numeric_text(text, held, shown) AS list_transform([struct_pack(t := text, s := shown)], lambda p:
    CASE WHEN (p).s >= held THEN (p).t || CASE WHEN held = 0 AND (p).s > 0 THEN '.' ELSE '' END || repeat('0', (p).s - held)
    ELSE left((p).t, length((p).t) - (held - (p).s) - CASE WHEN (p).s = 0 THEN 1 ELSE 0 END) END)[1];
-- The number of decimals in a plain number's text.
CREATE MACRO pg_decimals(t) AS CAST(CASE WHEN contains(t, '.') THEN length(t) - instr(t, '.') WHEN t IS NOT NULL THEN 0
    END AS INTEGER);

-- The digits of a float that a cast to numeric keeps: 15 significant digits, or 6 of a real.
CREATE MACRO pg_float_digits(x, digits) AS list_transform([CAST(x AS DOUBLE)], lambda v: CASE
    WHEN NOT isfinite(v) THEN CAST(pg_error('22003', 'value overflows numeric format' || chr(31) || 'The value is not finite.') AS VARCHAR)
    WHEN digits = 15 THEN format('{:.15g}', v) ELSE format('{:.6g}', v) END)[1];
CREATE MACRO pg_float_decimals(x, digits) AS list_transform([pg_float_digits(x, digits)], lambda t: greatest(0, CASE
    WHEN contains(t, 'e') THEN pg_decimals(split_part(t, 'e', 1)) - CAST(split_part(t, 'e', 2) AS INTEGER)
    ELSE pg_decimals(t) END))[1];

-- ---------------------------------------------------------------------------------------------- texts of values

CREATE MACRO pg_float8_text(x) AS CASE
    WHEN abs(x) >= 1e-4 AND abs(x) < 1e15 THEN
        CASE WHEN ends_with(CAST(x AS VARCHAR), '.0') THEN left(CAST(x AS VARCHAR), -2) ELSE CAST(x AS VARCHAR) END
    ELSE pg_float8_text_slow(x) END;
CREATE MACRO pg_float4_text(x) AS CASE
    WHEN abs(x) >= 1e-4 AND abs(x) < 1e6 THEN
        CASE WHEN ends_with(CAST(x AS VARCHAR), '.0') THEN left(CAST(x AS VARCHAR), -2) ELSE CAST(x AS VARCHAR) END
    ELSE pg_float4_text_slow(x) END;
-- The session's DateStyle and IntervalStyle, '' for the defaults: see `engine.cpu`.
CREATE MACRO pg_style() AS coalesce(getvariable('gpudb_style')::VARCHAR, '');
CREATE MACRO pg_iso_date_text(x) AS CASE WHEN x BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN CAST(x AS VARCHAR) ELSE pg_date_text_in(x, '') END;
CREATE MACRO pg_date_text(x) AS CASE WHEN pg_style() = '' THEN pg_iso_date_text(x) ELSE pg_date_text_in(x, pg_style()) END;
CREATE MACRO pg_iso_timestamp_text(x) AS CASE
    WHEN x BETWEEN TIMESTAMP '0001-01-01' AND TIMESTAMP '9999-12-31 23:59:59' THEN CAST(x AS VARCHAR)
    ELSE pg_timestamp_text_in(x, '') END;
CREATE MACRO pg_timestamp_text(x) AS
    CASE WHEN pg_style() = '' THEN pg_iso_timestamp_text(x) ELSE pg_timestamp_text_in(x, pg_style()) END;
CREATE MACRO pg_interval_text(x) AS pg_interval_text_in(x, pg_style());
CREATE MACRO pg_iso_timestamptz_text(x) AS pg_timestamptz_text_in(x, current_setting('TimeZone'), '');
CREATE MACRO pg_timestamptz_text(x) AS pg_timestamptz_text_in(x, current_setting('TimeZone'), pg_style());
CREATE MACRO pg_bytea_text(x) AS '\x' || lower(hex(x));
-- An element within an array's text.
CREATE MACRO pg_array_item(t) AS CASE WHEN regexp_matches(t, '[\s{},"\\]|^$|^(?i:null)$')
    THEN '"' || replace(replace(t, '\', '\\'), '"', '\"') || '"' ELSE t END;

-- "char" of a number: a byte, in octal beyond ASCII.
CREATE MACRO pg_char_of(n) AS list_transform([n], lambda v: CASE
    WHEN v < -128 OR v > 127 THEN pg_error('22003', '"char" out of range')::VARCHAR
    WHEN v = 0 THEN left(CAST(v AS VARCHAR), 0) WHEN v > 0 THEN chr(v) ELSE format('\{:03o}', v + 256) END)[1];

-- ---------------------------------------------------------------------------------------------- values of texts

-- DuckDB's own cast parses plain decimal digits; Python parses all else by PostgreSQL's rules, and raises its errors.
CREATE MACRO pg_int2_in(t) AS coalesce(CASE WHEN regexp_full_match(t, '[+-]?[0-9]+') THEN TRY_CAST(t AS SMALLINT) END, pg_int2_in_slow(t));
CREATE MACRO pg_int4_in(t) AS coalesce(CASE WHEN regexp_full_match(t, '[+-]?[0-9]+') THEN TRY_CAST(t AS INTEGER) END, pg_int4_in_slow(t));
CREATE MACRO pg_int8_in(t) AS coalesce(CASE WHEN regexp_full_match(t, '[+-]?[0-9]+') THEN TRY_CAST(t AS BIGINT) END, pg_int8_in_slow(t));
CREATE MACRO pg_float8_in(t) AS coalesce(CASE WHEN regexp_full_match(t, '[+-]?[0-9]{1,20}(\.[0-9]{0,20})?') THEN TRY_CAST(t AS DOUBLE) END, pg_float8_in_slow(t));
CREATE MACRO pg_float4_in(t) AS coalesce(CASE WHEN regexp_full_match(t, '[+-]?[0-9]{1,20}(\.[0-9]{0,10})?') THEN TRY_CAST(t AS FLOAT) END, pg_float4_in_slow(t));
-- A number's text as plain digits, without blanks or exponent.
CREATE MACRO pg_numeric_in(t) AS CASE WHEN regexp_full_match(t, '-?[0-9]+(\.[0-9]+)?') THEN t ELSE pg_numeric_in_slow(t) END;
CREATE MACRO pg_date_in(t) AS coalesce(CASE WHEN regexp_full_match(t, '[0-9]{4}-[0-9]{2}-[0-9]{2}') THEN TRY_CAST(t AS DATE) END,
    pg_date_in_slow(t, current_setting('TimeZone'), pg_style()));
CREATE MACRO pg_timestamp_in(t) AS coalesce(
    CASE WHEN regexp_full_match(t, '[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?') THEN TRY_CAST(t AS TIMESTAMP) END,
    pg_timestamp_in_slow(t, current_setting('TimeZone'), pg_style()));
CREATE MACRO pg_timestamptz_in(t) AS pg_timestamptz_in_zone(t, current_setting('TimeZone'), pg_style());
CREATE MACRO pg_timetz_in(t) AS pg_timetz_in_zone(t, current_setting('TimeZone'), pg_style());
CREATE MACRO pg_interval_in(t) AS pg_interval_in_style(t, pg_style());
CREATE MACRO pg_time_in(t) AS coalesce(CASE WHEN regexp_full_match(t, '[0-2][0-9]:[0-5][0-9]:[0-5][0-9]') THEN TRY_CAST(t AS TIME) END,
    pg_time_in_slow(t, current_setting('TimeZone'), pg_style()));
CREATE MACRO pg_bool_in(t) AS CASE WHEN t IN ('t', 'true') THEN true WHEN t IN ('f', 'false') THEN false ELSE pg_bool_in_slow(t) END;

-- ---------------------------------------------------------------------------------------------- dates and times

-- Rounds microseconds to a precision of 0 to 6 digits, halves away from zero.
CREATE MACRO pg_round_us(us, precision) AS list_transform([struct_pack(n := us, unit := CAST(pow(10, 6 - precision) AS BIGINT))],
    lambda p: ((p).n + CASE WHEN (p).n < 0 THEN -((p).unit // 2) ELSE (p).unit // 2 END) // (p).unit * (p).unit)[1];
-- Halves are rounded away from PostgreSQL's epoch, 2000-01-01.
CREATE MACRO pg_round_timestamp(t, precision) AS list_transform([t], lambda v: CASE WHEN NOT isfinite(v) THEN v
    ELSE make_timestamp(pg_round_us(epoch_us(v) - 946684800000000, precision) + 946684800000000) END)[1];
CREATE MACRO pg_round_timestamptz(t, precision) AS list_transform([t], lambda v: CASE WHEN NOT isfinite(v) THEN v
    ELSE make_timestamptz(pg_round_us(epoch_us(v) - 946684800000000, precision) + 946684800000000) END)[1];
CREATE MACRO pg_make_time(us) AS list_transform([us], lambda v: CASE WHEN v = 86400000000 THEN TIME '24:00:00'
    ELSE CAST(make_timestamp(v) AS TIME) END)[1];
CREATE MACRO pg_time_us(t) AS epoch_us(t);
-- The three fields of an interval, which DuckDB stores separately as PostgreSQL does. Casts: datepart of NULL is a
-- double.
CREATE MACRO pg_interval_months(i) AS CAST(datepart('year', i) * 12 + datepart('month', i) AS BIGINT);
CREATE MACRO pg_interval_days(i) AS CAST(datepart('day', i) AS BIGINT);
CREATE MACRO pg_interval_us(i) AS
    CAST(datepart('hour', i) * 3600000000 + datepart('minute', i) * 60000000 + datepart('microsecond', i) AS BIGINT);
-- Parts of an interval, checked for their range. Results carry its time in nanoseconds.
CREATE MACRO pg_interval_part(n) AS list_transform([n], lambda v:
    CASE WHEN v NOT BETWEEN -2147483648 AND 2147483647
    THEN CAST(pg_error('22008', 'interval out of range') AS INTEGER) ELSE CAST(v AS INTEGER) END)[1];
CREATE MACRO pg_interval_micros(n) AS list_transform([n], lambda v:
    CASE WHEN v NOT BETWEEN -9223372036854775808 AND 9223372036854775807
    THEN CAST(pg_error('22008', 'interval out of range') AS BIGINT) ELSE CAST(v AS BIGINT) END)[1];
CREATE MACRO pg_make_interval(months, days, us) AS
    to_months(pg_interval_part(months)) + to_days(pg_interval_part(days)) + to_microseconds(list_transform([us], lambda v:
    CASE WHEN abs(v) > 9223372036854775 THEN CAST(pg_error('22008', 'interval out of range') AS BIGINT)
    ELSE CAST(v AS BIGINT) END)[1]);
-- Whether a part of a + sign * b is out of range.
CREATE MACRO pg_interval_beyond(a, b, sign) AS
    pg_interval_months(a) + sign * pg_interval_months(b) NOT BETWEEN -2147483648 AND 2147483647
    OR pg_interval_days(a) + sign * pg_interval_days(b) NOT BETWEEN -2147483648 AND 2147483647
    -- results carry the time in nanoseconds
    OR abs(pg_interval_us(a) + sign * pg_interval_us(b)) > 9223372036854775;
CREATE MACRO pg_interval_plus(a, b) AS CASE WHEN pg_interval_beyond(a, b, 1)
    THEN CAST(pg_error('22008', 'interval out of range') AS INTERVAL) ELSE a + b END;
CREATE MACRO pg_interval_minus(a, b) AS CASE WHEN pg_interval_beyond(a, b, -1)
    THEN CAST(pg_error('22008', 'interval out of range') AS INTERVAL) ELSE a - b END;
CREATE MACRO pg_interval_time(i) AS pg_make_time(((pg_interval_us(i) % 86400000000) + 86400000000) % 86400000000);
-- A timetz as one integer (values/timetz.py): microseconds since midnight in UTC, and seconds west of Greenwich.
CREATE MACRO pg_timetz(us, west) AS CAST((us + west * 1000000) * 131072 + west + 65536 AS BIGINT);
CREATE MACRO pg_timetz_west(k) AS (k & 131071) - 65536;
CREATE MACRO pg_timetz_utc(k) AS (k - (k & 131071)) // 131072;
CREATE MACRO pg_timetz_us(k) AS pg_timetz_utc(k) - pg_timetz_west(k) * 1000000;
CREATE MACRO pg_timetz_of_local(us, local, utc) AS pg_timetz(us, (utc - local) // 1000000);
CREATE MACRO pg_timetz_of_timestamptz(t) AS CASE WHEN isfinite(t) THEN pg_timetz_of_local(
    (epoch_us(CAST(t AS TIMESTAMP)) % 86400000000 + 86400000000) % 86400000000, epoch_us(CAST(t AS TIMESTAMP)), epoch_us(t)) END;
CREATE MACRO pg_timetz_of_time(t) AS list_transform([CAST(current_date AS TIMESTAMP) + to_microseconds(epoch_us(t))], lambda v:
    pg_timetz_of_local(epoch_us(t), epoch_us(v), epoch_us(CAST(v AS TIMESTAMPTZ))))[1];
CREATE MACRO pg_moment_at(d, k) AS CASE WHEN k IS NULL THEN NULL WHEN NOT isfinite(d) THEN CAST(d AS TIMESTAMPTZ)
    ELSE make_timestamptz(epoch_us(CAST(d AS TIMESTAMP)) + pg_timetz_utc(k)) END;

-- ---------------------------------------------------------------------------------------------- json

CREATE MACRO pg_jsonb_scalar(j, kind, target) AS list_transform([struct_pack(j := j, k := json_type(j))], lambda p: CASE
    WHEN (p).j IS NULL THEN CAST(NULL AS VARCHAR)
    WHEN (kind = 'numeric' AND (p).k IN ('BIGINT', 'UBIGINT', 'DOUBLE', 'HUGEINT', 'UHUGEINT'))
        OR (kind = 'boolean' AND (p).k = 'BOOLEAN') THEN (p).j
    ELSE CAST(pg_error('22023', 'cannot cast jsonb ' || CASE WHEN (p).k = 'VARCHAR' THEN 'string' WHEN (p).k = 'OBJECT'
        THEN 'object' WHEN (p).k = 'ARRAY' THEN 'array' WHEN (p).k = 'BOOLEAN' THEN 'boolean' WHEN (p).k = 'NULL' THEN 'null' ELSE 'numeric' END
        || ' to type ' || target) AS VARCHAR) END)[1];

-- ---------------------------------------------------------------------------------------------- text

-- Letters beyond ASCII change case one to one.
CREATE MACRO pg_upper(s) AS CASE WHEN strlen(s) = length(s) THEN upper(s) ELSE pg_upper_slow(s) END;
CREATE MACRO pg_lower(s) AS CASE WHEN strlen(s) = length(s) THEN lower(s) ELSE pg_lower_slow(s) END;
-- Reverses code points; DuckDB keeps combined characters together.
CREATE MACRO pg_reverse(s) AS CASE WHEN strlen(s) = length(s) THEN reverse(s) ELSE pg_reverse_slow(s) END;
CREATE MACRO pg_substring(s, start, n) AS CASE WHEN s IS NULL OR start IS NULL THEN NULL
    WHEN n::BIGINT < 0 THEN pg_error('22011', 'negative substring length not allowed')::VARCHAR
    ELSE substring(s, pg_at_least(start::BIGINT, 1), pg_at_least(start::BIGINT + n::BIGINT - pg_at_least(start::BIGINT, 1), 0)) END;
CREATE MACRO pg_split_part(s, sep, n) AS CASE WHEN s IS NULL OR sep IS NULL THEN NULL
    WHEN n = 0 THEN pg_error('22023', 'field position must not be zero')::VARCHAR
    WHEN sep = '' THEN CASE WHEN n IN (1, -1) THEN s ELSE left(s, 0) END
    ELSE split_part(s, sep, n) END;
CREATE MACRO pg_overlay(s, r, start, n) AS CASE WHEN s IS NULL OR r IS NULL OR n IS NULL THEN NULL
    WHEN start::BIGINT <= 0 THEN pg_error('22011', 'negative substring length not allowed')::VARCHAR
    ELSE left(s, start::BIGINT - 1) || r || substring(s, pg_at_least(start::BIGINT + n::BIGINT, 1)) END;
-- PostgreSQL negates a count in 32 bits, where the least integer overflows to itself.
CREATE MACRO pg_right(s, n) AS CASE WHEN n = -2147483648 THEN s ELSE right(s, n) END;
-- Beyond 64 KiB a text is asked for (gpudb.memory), and made of long pieces: DuckDB copies one piece after the other.
CREATE MACRO pg_repeat(s, n) AS CASE WHEN n::BIGINT * strlen(s) > 65536
    THEN CASE WHEN strlen(s) >= 1000
            THEN repeat(s, (pg_allot(n::BIGINT * strlen(s)) // strlen(s)))
        WHEN n % 100 = 0 THEN repeat(repeat(s, 100), (pg_allot(n::BIGINT * strlen(s)) // (100 * strlen(s))))
        ELSE repeat(repeat(s, 100), (pg_allot(n::BIGINT * strlen(s)) // (100 * strlen(s)))) || repeat(s, n % 100) END
    -- repeated, because DuckDB folds constants on branches that are not taken
    ELSE repeat(s, CASE WHEN n::BIGINT * strlen(s) > 65536 THEN 0 ELSE n END) END;
-- The text that replaces another, once the memory is there for all its copies.
CREATE MACRO pg_replace(s, a, b) AS CASE WHEN strlen(b) > strlen(a) AND strlen(s) * strlen(b) > 1048576
    THEN replace(s, a, CASE WHEN pg_allot(strlen(s) + (strlen(s) - strlen(replace(s, a, '')))
        // greatest(strlen(a), 1) * (strlen(b) - strlen(a))) >= 0 THEN b END)
    -- as above: on a branch that is not taken, DuckDB would make the text of constants
    ELSE replace(s, a, CASE WHEN strlen(b) > strlen(a) AND strlen(s) * strlen(b) > 1048576 THEN a ELSE b END) END;
CREATE MACRO pg_lpad(s, n, fill) AS CASE WHEN fill = '' THEN left(s, pg_at_least(n, 0)) WHEN n > 268435454 THEN pg_error('54000', 'requested length too large')::VARCHAR ELSE lpad(s, CASE WHEN n > 268435454 THEN 0 ELSE n END, fill) END;
CREATE MACRO pg_rpad(s, n, fill) AS CASE WHEN fill = '' THEN left(s, pg_at_least(n, 0)) WHEN n > 268435454 THEN pg_error('54000', 'requested length too large')::VARCHAR ELSE rpad(s, CASE WHEN n > 268435454 THEN 0 ELSE n END, fill) END;
CREATE MACRO pg_chr(n) AS CASE
    WHEN n = 0 THEN pg_error('54000', 'null character not permitted')::VARCHAR
    WHEN n < 0 THEN pg_error('22023', 'character number must be positive')::VARCHAR
    WHEN n > 1114111 THEN pg_error('54000', 'requested character too large for encoding: ' || n)::VARCHAR
    WHEN n BETWEEN 55296 AND 57343
        THEN pg_error('54000', 'requested character not valid for encoding: ' || n)::VARCHAR
    ELSE chr(n) END;
CREATE MACRO pg_quote_literal(s) AS CASE WHEN contains(s, '\')
    THEN 'E''' || replace(replace(s, '\', '\\'), '''', '''''') || ''''
    ELSE '''' || replace(s, '''', '''''') || '''' END;
CREATE MACRO pg_string_to_array(s, sep) AS CASE WHEN s IS NULL THEN NULL WHEN s = '' THEN CAST([] AS VARCHAR[])
    WHEN sep IS NULL THEN pg_characters(s) WHEN sep = '' THEN [s] ELSE string_split(s, sep) END;

-- ---------------------------------------------------------------------------------------------- dates and times

CREATE MACRO pg_date_add(d, n) AS CASE
    WHEN n IS NULL THEN NULL WHEN NOT isfinite(d) THEN d
    WHEN abs(n::BIGINT) > 2147483647 OR n::BIGINT > DATE '5874897-12-31' - d OR n::BIGINT < DATE '4714-11-24 (BC)' - d
    THEN pg_error('22008', 'date out of range')::DATE
    ELSE d + n::BIGINT::INTEGER END;
CREATE MACRO pg_date_difference(a, b) AS CASE
    WHEN a IS NULL OR b IS NULL THEN NULL
    WHEN NOT isfinite(a) OR NOT isfinite(b) THEN pg_error('22008', 'cannot subtract infinite dates')::INTEGER
    ELSE CAST(a - b AS INTEGER) END;
-- Adds months to a timestamptz on the clock of the session's time zone, then days, then microseconds. After the months
-- and again after the days the clock's time becomes a moment: one that comes twice is the later, in standard time.
CREATE MACRO pg_move_clock(t, months, days) AS CASE WHEN months = 0 AND days = 0 THEN t
    ELSE CAST(CAST(t AS TIMESTAMP) + pg_make_interval(months, days, 0) AS TIMESTAMPTZ) END;
CREATE MACRO pg_move_moment(t, months, days, us) AS list_transform(list_transform(
    [struct_pack(t := pg_move_clock(t, months, 0), days := days, us := us)],
    lambda p: struct_pack(t := pg_move_clock((p).t, 0, (p).days), us := (p).us)), lambda p:
    CASE WHEN NOT isfinite((p).t) THEN (p).t ELSE make_timestamptz(epoch_us((p).t) + (p).us) END)[1];
CREATE MACRO pg_time_between(a, b) AS CASE
    WHEN a IS NULL OR b IS NULL THEN NULL
    WHEN NOT isfinite(a) OR NOT isfinite(b)
    THEN CAST(pg_error('22008', 'cannot subtract infinite timestamps') AS INTERVAL) ELSE a - b END;
CREATE MACRO pg_age(a, b) AS CASE
    WHEN a IS NULL OR b IS NULL THEN NULL
    WHEN NOT isfinite(a) OR NOT isfinite(b) THEN CAST(pg_error('22008', 'timestamp out of range') AS INTERVAL)
    ELSE age(a, b) END;
-- Truncates a timestamptz by the difference of its local time before and after truncation.
CREATE MACRO pg_cut_moment(t, shown, cut) AS CASE WHEN NOT isfinite(t) THEN t
    ELSE make_timestamptz(epoch_us(t) - (epoch_us(shown) - epoch_us(cut))) END;
-- The time between two timestamps, in days of 24 hours and a rest.
CREATE MACRO pg_elapsed(a, b) AS CASE
    WHEN a IS NULL OR b IS NULL THEN NULL
    WHEN NOT isfinite(a) OR NOT isfinite(b)
    THEN CAST(pg_error('22008', 'cannot subtract infinite timestamps') AS INTERVAL)
    ELSE pg_make_interval(0, (epoch_us(a) - epoch_us(b)) // 86400000000, (epoch_us(a) - epoch_us(b)) % 86400000000)
    END;
-- The time of day of any number of microseconds, modulo a day.
CREATE MACRO pg_day_time(us) AS pg_make_time(((us) % 86400000000 + 86400000000) % 86400000000);
CREATE MACRO pg_make_date(y, m, d) AS CASE
    WHEN y = 0 OR m < 1 OR m > 12 OR d < 1
        OR d > day(last_day(make_date(CASE WHEN y < 0 THEN y + 1 ELSE y END, greatest(least(m, 12), 1), 1)))
    THEN pg_error('22008', 'date field value out of range: ' || y || '-' || lpad(m::VARCHAR, 2, '0') || '-' || lpad(d::VARCHAR, 2, '0'))::DATE
    ELSE make_date(CASE WHEN y < 0 THEN y + 1 ELSE y END, m, d) END;
CREATE MACRO pg_make_time_of(h, m, s) AS CASE
    WHEN h::BIGINT < 0 OR m::BIGINT < 0 OR m::BIGINT > 59 OR s::DOUBLE < 0 OR s::DOUBLE > 60 OR isnan(s::DOUBLE) OR h::BIGINT > 24 OR (h::BIGINT = 24 AND (m::BIGINT > 0 OR s::DOUBLE > 0))
    THEN pg_error('22008', 'time field value out of range: ' || h::BIGINT || ':' || lpad(m::BIGINT::VARCHAR, 2, '0') || ':' || s::DOUBLE)::TIME
    ELSE pg_make_time(h::BIGINT * 3600000000 + m::BIGINT * 60000000 + round_even(s::DOUBLE * 1000000, 0)::BIGINT) END;
-- PostgreSQL rounds the seconds since 2000-01-01.
CREATE MACRO pg_to_timestamp(s) AS CASE
    WHEN isnan(s) THEN pg_error('22008', 'timestamp cannot be NaN')::TIMESTAMPTZ
    WHEN isinf(s) THEN CASE WHEN s > 0 THEN 'infinity'::TIMESTAMPTZ ELSE '-infinity'::TIMESTAMPTZ END
    WHEN s < -210866803200 OR s >= 9224318016000 THEN pg_error('22008', 'timestamp out of range: "' || s || '"')::TIMESTAMPTZ
    ELSE make_timestamptz(round_even((s - 946684800) * 1000000, 0)::BIGINT + 946684800000000) END;
CREATE MACRO pg_trunc_century(t) AS CASE WHEN NOT isfinite(t) THEN t
    ELSE date_trunc('year', t) - to_years(CAST((year(t) - 1) - floor((year(t) - 1) / 100) * 100 AS INTEGER)) END;
CREATE MACRO pg_trunc_millennium(t) AS CASE WHEN NOT isfinite(t) THEN t
    ELSE date_trunc('year', t) - to_years(CAST((year(t) - 1) - floor((year(t) - 1) / 1000) * 1000 AS INTEGER)) END;
CREATE MACRO pg_trunc_day(t) AS date_trunc('day', t);
CREATE MACRO pg_trunc_week(t) AS date_trunc('week', t);
CREATE MACRO pg_trunc_month(t) AS date_trunc('month', t);
CREATE MACRO pg_trunc_quarter(t) AS date_trunc('quarter', t);
CREATE MACRO pg_trunc_year(t) AS date_trunc('year', t);
CREATE MACRO pg_trunc_decade(t) AS CASE WHEN NOT isfinite(t) THEN t
    ELSE date_trunc('year', t) - to_years(CAST(year(t) - floor(year(t) / 10) * 10 AS INTEGER)) END;
CREATE MACRO pg_bin_us(span) AS CASE
    WHEN pg_interval_months(span) <> 0
    THEN pg_error('0A000', 'timestamps cannot be binned into intervals containing months or years')::BIGINT
    WHEN pg_interval_days(span) * 86400000000 + pg_interval_us(span) <= 0
    THEN pg_error('22008', 'stride must be greater than zero')::BIGINT
    ELSE pg_interval_days(span) * 86400000000 + pg_interval_us(span) END;
CREATE MACRO pg_bin_floor(us, origin, stride) AS us - ((us - origin) % stride + stride) % stride;
CREATE MACRO pg_date_bin(span, t, origin) AS CASE
    WHEN span IS NULL OR t IS NULL OR origin IS NULL THEN NULL WHEN NOT isfinite(t) THEN t
    WHEN NOT isfinite(origin) THEN pg_error('22008', 'origin out of range')::TIMESTAMP
    ELSE make_timestamp(pg_bin_floor(epoch_us(t), epoch_us(origin), pg_bin_us(span))) END;
CREATE MACRO pg_date_bin_tz(span, t, origin) AS CASE
    WHEN span IS NULL OR t IS NULL OR origin IS NULL THEN NULL WHEN NOT isfinite(t) THEN t
    WHEN NOT isfinite(origin) THEN pg_error('22008', 'origin out of range')::TIMESTAMPTZ
    ELSE make_timestamptz(pg_bin_floor(epoch_us(t), epoch_us(origin), pg_bin_us(span))) END;
-- The engine's series takes no step of mixed signs.
CREATE MACRO pg_time_series(first, last, step) AS CASE
    WHEN first IS NULL OR last IS NULL THEN NULL
    WHEN step = to_seconds(0) THEN [pg_error('22023', 'step size cannot equal zero')::TIMESTAMP]
    WHEN greatest(pg_interval_months(step), pg_interval_days(step), pg_interval_us(step)) > 0
        AND least(pg_interval_months(step), pg_interval_days(step), pg_interval_us(step)) < 0
    THEN list_transform(pg_moment_series(epoch_us(first), epoch_us(last), pg_interval_months(step)::INTEGER,
        pg_interval_days(step)::INTEGER, pg_interval_us(step), ''), lambda pg_e: make_timestamp(pg_e))
    ELSE generate_series(first, last, step) END;
-- A series of moments, which months and days of the step move on the clock of a zone.
CREATE MACRO pg_zoned_series(first, last, step, zone) AS list_transform(pg_moment_series(
    epoch_us(first), epoch_us(last), pg_interval_months(step)::INTEGER, pg_interval_days(step)::INTEGER,
    pg_interval_us(step), zone), lambda pg_e: make_timestamptz(pg_e));
-- (s1, e1) OVERLAPS (s2, e2): ends in any order; NULL if an unknown end could decide (overlaps_timestamp).
CREATE MACRO pg_overlaps(s1, e1, s2, e2) AS list_transform([struct_pack(
        a := CASE WHEN s1 IS NULL THEN e1 WHEN s1 > e1 THEN e1 ELSE s1 END,
        b := CASE WHEN s1 IS NULL THEN NULL WHEN s1 > e1 THEN s1 ELSE e1 END,
        c := CASE WHEN s2 IS NULL THEN e2 WHEN s2 > e2 THEN e2 ELSE s2 END,
        d := CASE WHEN s2 IS NULL THEN NULL WHEN s2 > e2 THEN s2 ELSE e2 END)], lambda p: CASE
    WHEN (p).a IS NULL OR (p).c IS NULL THEN NULL
    WHEN (p).a > (p).c THEN CASE WHEN (p).d IS NULL THEN NULL WHEN (p).a < (p).d THEN true WHEN (p).b IS NULL THEN NULL ELSE false END
    WHEN (p).a < (p).c THEN CASE WHEN (p).b IS NULL THEN NULL WHEN (p).c < (p).b THEN true WHEN (p).d IS NULL THEN NULL ELSE false END
    WHEN (p).b IS NULL OR (p).d IS NULL THEN NULL ELSE true END)[1];

-- ---------------------------------------------------------------------------------------------- mathematics

-- The relative position of x between two bounds, whose distance may overflow a float.
CREATE MACRO pg_share(x, a, b) AS CASE WHEN isinf(b - a) THEN (x / 2 - a / 2) / (b / 2 - a / 2) ELSE (x - a) / (b - a) END;
CREATE MACRO pg_width_bucket(x, low, high, n) AS CASE
    WHEN x IS NULL OR low IS NULL OR high IS NULL OR n IS NULL THEN NULL
    WHEN n <= 0 THEN pg_error('2201G', 'count must be greater than zero')::INTEGER
    WHEN isnan(x) OR isnan(low) OR isnan(high)
    THEN pg_error('2201G', 'operand, lower bound, and upper bound cannot be NaN')::INTEGER
    WHEN isinf(low) OR isinf(high) THEN pg_error('2201G', 'lower and upper bounds must be finite')::INTEGER
    WHEN low = high THEN pg_error('2201G', 'lower bound cannot equal upper bound')::INTEGER
    WHEN low < high THEN CASE WHEN x < low THEN 0 WHEN x >= high THEN n + 1
        ELSE CAST(least(floor(n * pg_share(x, low, high)), n - 1) AS INTEGER) + 1 END
    ELSE CASE WHEN x > low THEN 0 WHEN x <= high THEN n + 1
        ELSE CAST(least(floor(n * pg_share(x, low, high)), n - 1) AS INTEGER) + 1 END END;
CREATE MACRO pg_exact_bucket(x, low, high, n) AS CASE
    WHEN x IS NULL OR low IS NULL OR high IS NULL OR n IS NULL THEN NULL
    WHEN n <= 0 THEN pg_error('2201G', 'count must be greater than zero')::INTEGER
    WHEN low = high THEN pg_error('2201G', 'lower bound cannot equal upper bound')::INTEGER
    WHEN low < high THEN CASE WHEN x < low THEN 0 WHEN x >= high THEN n + 1
        ELSE CAST((x - low) * n // (high - low) AS INTEGER) + 1 END
    ELSE CASE WHEN x > low THEN 0 WHEN x <= high THEN n + 1
        ELSE CAST((low - x) * n // (low - high) AS INTEGER) + 1 END END;

-- ---------------------------------------------------------------------------------------------- sketches

-- Hashes and registers of HyperLogLog: see gpudb.sketches.hyperloglog. Products of 64-bit integers have 127 bits.
CREATE MACRO pg_mix_step(z, s, k) AS ((xor(z, z >> s) * k) & 18446744073709551615::HUGEINT);
CREATE MACRO pg_mix_end(z) AS xor(z, z >> 27);
CREATE MACRO pg_mix(z) AS pg_mix_end(pg_mix_step(pg_mix_step(z, 27, 4357703544722667091::HUGEINT), 33, 2047365380309298741::HUGEINT));
CREATE MACRO pg_hash(i) AS CAST(pg_mix(i::HUGEINT + 9223372036854775808::HUGEINT) >> 1 AS BIGINT);
CREATE MACRO pg_wide_bits(i) AS CAST(((
    (abs(i::HUGEINT) & 18446744073709551615::HUGEINT)
    + pg_mix((abs(i::HUGEINT) >> 64) * 2 + CAST(i < 0 AS HUGEINT))
    ) & 18446744073709551615::HUGEINT) - 9223372036854775808::HUGEINT AS BIGINT);
CREATE MACRO pg_bit_length(i) AS CASE WHEN i = 0 THEN 0 ELSE CAST(floor(log2(i & ~(i >> 1)) + 0.2) AS INTEGER) + 1 END;
CREATE MACRO pg_register(h) AS CAST(
    h >> 51 << 6 | least(50, 52 - pg_bit_length(h & 2251799813685247)) AS INTEGER);

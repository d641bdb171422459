-- The comparison functions of B-tree operator classes.
-- cases
select bttextcmp('a', 'b'), bttextcmp('b', 'a'), bttextcmp('a', 'a'), bttextcmp('a', 'aa'), bttextcmp('', 'a'), bttextcmp(null, 'a');
select btint4cmp(1, 2), btint8cmp(3, 2), btint2cmp(1::int2, 1::int2), btint48cmp(1, 2::int8), btint24cmp(5::int2, 4), btint82cmp(1::int8, 1::int2);
select btfloat8cmp('nan', 2), btfloat8cmp('nan', 'nan'), btfloat8cmp('-0', 0), btfloat4cmp(1, 2), btfloat48cmp(1::real, 1::float8);
select numeric_cmp(1.50, 1.5), numeric_cmp(1, 2), numeric_cmp(1.0 / 3, 0.3), cash_cmp('1', '2'), btoidcmp(4294967295::oid, 1::oid);
select date_cmp('2020-01-01', '2020-01-02'), timestamp_cmp('2020-01-01', '2019-01-02'), timestamptz_cmp('2020-01-01', '2020-01-01'), date_cmp_timestamp('2020-01-01', '2020-01-01 01:00'), timestamptz_cmp_date('infinity', '2020-01-01');
select interval_cmp('1 mon', '30 days'), interval_cmp('1 d', '2 d'), time_cmp('01:00', '02:00'), timetz_cmp('01:00+01', '01:00+00');
select x, y, btint4cmp(x, y), sign(bttextcmp(x::text, y::text)) from generate_series(1, 3) x, generate_series(1, 3) y;

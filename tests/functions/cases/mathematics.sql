select round(x), trunc(x), ceil(x), floor(x), sign(x), abs(x), -x from (values (2.5::float8), (-2.5), (3.5), (0.4), (-0.4), ('NaN'), ('Infinity'), (0), (null)) v(x)
select round(x), trunc(x), ceil(x), floor(x), sign(x), abs(x), ceiling(x), -x, +x from (values (2.5), (-2.5), (3.49), (0), (-0.5), (99.99), (null)) v(x)
select round(x, 2), round(x, 0), round(x, -1), round(x, 5), trunc(x, 2), trunc(x, 0), trunc(x, -1), trunc(x, 5) from (values (1234.5678), (-1234.5678), (0.005), (-0.005), (9999.999), (5), (null)) v(x)
select round(x, n), trunc(x, n) from (values (1234.5678, 2), (-1234.5678, 0), (0.005, 2), (1234.5, -2), (5, 3), (15.5, 1), (null, 1), (1.5, null)) v(x, n)
round(1.0/3, 5), round(2.0/3), trunc(2.0/3, 3), ceil(2.0/3), floor(-2.0/3), round(avg(x), 2), trunc(avg(x), 1) from (values (1), (2), (2)) v(x)
round(42), round(-5), trunc(7), ceil(7), floor(7), round(2.5::float4)
select sqrt(x), cbrt(x), exp(x), ln(x), log(x), log10(x) from (values (1::float8), (27), (100), (0.5), (2)) v(x)
sqrt(-1::float8)
ln(0::float8)
ln(-1::float8)
log(0::float8)
exp(1000::float8)
exp(-1000::float8)
power(2::float8, 10), power(2::float8, 0.5), power(0::float8, 0), 2 ^ 3, power(-8::float8, 3), 2::float8 ^ -1, power('Infinity'::float8, -1), power(2, 3)
power(0::float8, -1)
power(-8::float8, 0.5)
power(10::float8, 400)
power(10::float8, -400)
sqrt(2.0), sqrt(0.0), sqrt(1000000.0), sqrt(0.0001), sqrt(2::numeric), sqrt(15241.383936), sqrt(123456789012345.0)
sqrt(-1.0)
exp(1.0), exp(0.0), exp(-1.0), exp(10.5), exp(2::numeric)
ln(2.0), ln(10.0), ln(1.0), ln(0.5), ln(123456.789), ln(1.05)
ln(0.0)
ln(-1.0)
log(100.0), log(2.0), log10(1000.0), log(2.0, 64.0), log(2, 10), log(0.5), log(10.0, 0.001)
power(2.0, 3.0), power(2.0, 0.5), power(2.0, -2.0), power(10.0, 5), 2.0 ^ 10, 1.05 ^ 10, power(0.5, 3), power(9.0, 0.5), power(0.0, 0.0), power(7.5, 1), power(-2.0, 3), 2::numeric ^ 10, power(1.1, 50)
power(0.0, -1.0)
power(-2.0, 0.5)
mod(7, 3), mod(-7, 3), mod(7, -3), mod(7.5, 2), mod(-7.5, 2.25), 7.5 % 2, 5::int8 % 3, mod(5::int2, 3::int2), 123456789012345678.5 % 7
mod(5, 0)
5.5 % 0
div(7.5, 2), div(-7.5, 2), div(7, 0.5), div(1, 3)
div(1.5, 0)
gcd(12, 18), gcd(-12, 18), gcd(0, 5), gcd(0, 0), lcm(4, 6), lcm(0, 5), lcm(-4, 6), gcd(12::int8, 8), gcd(1.5, 2.25), lcm(1.5, 2)
lcm(2147483647, 2147483646)
select factorial(x), x ! = 1 from (values (0::int8)) v(x) where false
factorial(0), factorial(5), factorial(20), factorial(33)
factorial(-1)
pi(), degrees(pi()), radians(180), sin(1), cos(1), tan(1), cot(1), asin(0.5), acos(0.5), atan(1), atan2(1, 2), sinh(1), cosh(1), tanh(1), asinh(1), acosh(2), atanh(0.5)
sind(30), cosd(60), tand(45), cotd(45), asind(0.5), acosd(0.5), atand(1), atan2d(1, 1), sind(150), cosd(120), tand(135), sind(-30), sind(390), cosd(180), sind(10), erf(1), erfc(1)
sin('Infinity'::float8)
asin(2)
acosh(0.5)
atanh(2)
select width_bucket(x, 0, 10, 5) from (values (-1::float8), (0), (4.9), (5), (10), (11)) v(x)
select width_bucket(x, 10, 0, 5) from (values (-1.5), (0), (4.9), (5), (10), (11)) v(x)
width_bucket(5.35, 0.024, 10.06, 5), width_bucket(5, array[1,3,4,10]), width_bucket(0, array[1,3]), width_bucket(2.5::float8, array[1,2,3]::float8[])
width_bucket(1, 0, 10, 0)
width_bucket(1, 5, 5, 3)
scale(1.50), scale(8.41), min_scale(8.4100), trim_scale(8.4100), trim_scale(100.0), scale(1.0/3)
1/3, 7/2, -7/2, 7%3, -7%3, 5/2.0, 1.0/3, 2.0/3, 1/3.0, 10.0/4, 100.00/3, 1e10/3, 0.001/7, -1.0/3, 1.5*2.25, 1.5+2.25, 1-0.001
select a / b, a * b, a + b, a - b, a % b from (values (10.5, 3), (-10.5, 3.25), (0, 7), (123456.789, 0.001), (null, 1), (99999999.99, 12345.678)) v(a, b)
1.5 / 0
select x / y from (values (1.5, 0.0)) v(x, y)
(1.0/3) * 3, (1.0/3) * (2.0/3) > 0.2, (1.0/3) + 0.5, (1.0/3) - (2.0/3), 100.0 * (1.0 / 3), (1.0/3) / (2.0/3), (10.0/3)::numeric(10,2) * 1.5, -(1.0/3), abs(-1.0/3), 2 * (1.0/3) % 1
99999999999999999999.99 * 99999999999.99, 12345678901234567890 * 1.000001, 0.000000000001 * 0.000000000001
5 & 3, 5 | 3, 5 # 3, ~5, 1 << 3, 256 >> 3, 1 << 31, 1 << 32, 1 << 33, 1::int8 << 63, 1::int8 << 64, -8 >> 1, 5::int2 & 3::int2, -1 >> 31, (-1)::int8 >> 63
2147483647 + 1
(-2147483648)::int4 / -1
32767::int2 + 1::int2
9223372036854775807 + 1
-(-9223372036854775808)
abs((-2147483648)::int4)
1 / 0
1 % 0
1.5::float8 / 0
1e308::float8 * 10
'1e308'::float8 + '1e308'::float8
'1e-300'::float8 * '1e-300'::float8
1.5::float4 * 2, 0.1::float4 + 0.2::float4, 0.1::float8 + 0.2::float8, 1.5::float4 * 2::float8, 1::float8 / 3, 1::float4 / 3, 5::float8 - 7
'Infinity'::float8 * 0, 'Infinity'::float8 - 'Infinity'::float8, 'NaN'::float8 = 'NaN'::float8, 'NaN'::float8 > 'Infinity'::float8, 'NaN'::float8 + 1, 0::float8 / 'Infinity'::float8, 'NaN'::float8 / 0
random() between 0 and 1, random() < 1
select round((2 * 6371 * asin(sqrt(sin(radians(b - a) / 2) ^ 2 + cos(radians(a)) * cos(radians(b)) * sin(radians(d - c) / 2) ^ 2)))::numeric, 6) from (values (40.7::float8, 40.8::float8, -73.9::float8, -74.0::float8), (0, 0, 0, 0), (null, 1, 2, 3)) v(a, b, c, d)
select ((a * b + c) * (a - b) / (c + 1.5)) * ((a + b) * (b + c) - a / (b * c + 0.5)) from (values (1.5::float8, 2.5::float8, 3.5::float8)) v(a, b, c)
select round(((a / b) * (b / c) + (c / a)) / (a / c), 6) from (values (1.5, 2.5, 3.5), (10, 3, 7)) v(a, b, c)
-- operands that are named, for their length
select width_bucket((x - 1.5) * (x + 2) - x * 0.25 + abs(x) * sqrt(abs(x)), abs(x) * 2 - 100 + x, x * x + 1000 + abs(x), 5 + x::int) from (values (1::float8), (2.5), (-3), (null)) v(x)
select width_bucket((x - 1.5) * (x + 2) - x * 0.25, abs(x) * 2 - 100 + x, x * x + 1000 + abs(x), 5 + x::int) from (values (1::numeric(6,2)), (2.5), (-3), (null)) v(x)
select width_bucket(x, 1, 1, 5) from (values (1::float8), (2)) v(x)

-- Integers and floats: types, truncation, overflow, division by zero
1 + 1
7 / 2
-7 / 2
7 % 3
-7 % 3
7 % -3
2147483647 + 1
2147483647::bigint + 1
9223372036854775807 + 1
9223372036854775807::bigint + 1::bigint
32767::smallint + 1::smallint
(-32768)::smallint
-(-2147483648)::int
abs(-2147483648)
1 / 0
1 % 0
1.0 / 0
1::float8 / 0
0::float8 / 0
'NaN'::float8 = 'NaN'::float8
'NaN'::float8 > 'Infinity'::float8
'Infinity'::float8 - 'Infinity'::float8
'-Infinity'::float8
0.1::float8 + 0.2::float8
0.1::real + 0.2::real
1e15::float8
1e16::float8
123456789012345678::float8
1e-5::float8
0.0001::float8
1e6::real
1234567::real
100000::real
-0.0::float8
2 ^ 10
2 ^ 0.5
2.0 ^ 3
(-8) ^ (1.0/3)
2::float8 ^ 10::float8
0::float8 ^ -1
1 << 4
256 >> 4
-1 >> 1
1::bigint << 40
5 & 3
5 | 3
5 # 3
~5
@ -5
|/ 25.0
+ 5
- - 5
1::smallint + 1
1::bigint + 1
1 + 1.5
1 + 1.5::real
1 + 1.5::float8
1.5 + 1.5::float8
1::smallint / 2::smallint
10 / 4 * 4
10 - 3 - 2
2 + 3 * 4
-2 ^ 2
abs(-5)
abs(-5.5)
abs(-5.5::float8)
abs((-5)::smallint)
sign(-5)
sign(-5.5::float8)
sign(0.0)
mod(7, 3)
mod(-7, 3)
mod(7.5, 2)
div(7.5, 2)
div(-7, 2)
gcd(12, 18)
lcm(4, 6)
factorial(5)
sqrt(2)
sqrt(2.0)
sqrt(-1)
ln(10)
ln(0)
ln(-1.0)
log(100)
log(100.0)
log(2.0, 64.0)
log10(1000)
power(2, 3)
power(2.0, 3)
power(2.0, 0.5)
pow(3, 2)
ceil(1.2)
ceil(-1.2)
ceil(1.2::float8)
ceiling(1.2)
floor(1.7)
floor(-1.7)
floor(-1.7::float8)
round(2.5)
round(-2.5)
round(2.5::float8)
round(3.5::float8)
round(2.345, 2)
round(1234.5, -2)
trunc(2.7)
trunc(-2.7)
trunc(2.7::float8)
trunc(2.789, 2)
trunc(1299, -2)
pi()
degrees(pi())
radians(180)
sin(0)
cos(0)
tan(0)
cot(1)
asin(1)
acos(1)
atan(1)
atan2(1, 1)
acos(2)
sinh(0)
cosh(0)
tanh(0)
asinh(0)
acosh(1)
atanh(0)
sind(30)
cosd(60)
tand(45)
width_bucket(5.35, 0.024, 10.06, 5)
width_bucket(5.35::float8, 0.024, 10.06, 5)
width_bucket(11, 0, 10, 5)
min_scale(8.4100)
scale(8.41)
trim_scale(8.4100)
greatest(1, 2.5, 3)
least(1, 2.5, 3)
greatest(NULL, 1)
least('b', 'a')
bit_count('\x1234'::bytea)
to_hex(255)
to_hex(-1)
to_hex(255::bigint)
to_bin(5)
to_oct(64)
1 = 1.0
1 = 1::float8
0.1 = 0.1::float8
1 <> 2
2 > 1.5
1 != 2
'1' + 1
1 + 'x'
1 + true
'a' + 'b'
1 || 2
5 !
1_000
0x1F
0b101 + 0o17
1_000_000_000_000
0xFFFFFFFFFF
1x
1_

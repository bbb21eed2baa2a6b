-- numeric: scale, rounding, overflow, comparison without trailing zeros
1.10
1.10 = 1.1
0.1 + 0.2
1.1 * 1.1
10 / 3.0
1 / 3.0
2 / 3.0
-10 / 3.0
1.0 / 7
12345678901234567.89 * 10
1.5::numeric(10,0)
2.5::numeric(10,0)
-2.5::numeric(10,0)
12.345::numeric(10,2)
12.344999::numeric(10,2)
'12.345'::numeric(10,2)
'  12.5  '::numeric
'1e3'::numeric
'1.5e-3'::numeric
'abc'::numeric
''::numeric
'abc'::text::numeric
'12.5'::text::numeric
'  12.5 '::text::numeric
'1e2'::text::numeric
''::text::numeric
'1_000'::numeric
12.5::int
13.5::int
-12.5::int
12.5::bigint
99999.5::smallint
3000000000.5::int
12.5::float8
12.5::real
12.5::text
0.000001
0.000000000000000001
-0.0
1e10
1.5e3
.5
5.
12.5 % 5
-12.5 % 5
round(12.345::numeric(10,3), 2)
sum(x) FROM (VALUES (1.1), (2.2)) v(x)
avg(x) FROM (VALUES (1), (2)) v(x)
avg(x) FROM (VALUES (1.5), (2.0)) v(x)
sum(x) FROM (VALUES (1::bigint), (2)) v(x)
sum(x) FROM (VALUES (1::real), (2)) v(x)
numeric '12.5'
12::numeric = 12.00::numeric
sqrt(4.0)
0.5::numeric::int
1.5::numeric::int
to_number('12,454.8-', '99G999D9S')
to_char(1234.5, '9999.99')
to_char(1234.5, 'FM9999.00')
to_char(1234567, 'FM9,999,999')
to_char(-12, '999')
to_char(12, '0000')
to_char(0.5, 'FM0.99')
to_char(485, 'RN')
to_char(12.45, 'FM999.9')
to_char(1234, 'L9999')

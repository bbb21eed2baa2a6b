-- Casts between all pairs that people write, and what they refuse
'12'::int
' 12 '::int
'12'::text::int
' 12 '::text::int
'+12'::text::int
'-12'::text::int
'1x'::int
'1x'::text::int
'12.5'::int
'12.5'::text::int
''::int
''::text::int
'99999999999'::int
'99999999999'::text::int
'99999'::text::smallint
'99999999999999999999'::text::bigint
'0x1F'::int
'0b101'::int
'1_000'::int
'1e5'::float8
'1e5'::text::float8
' 1.5 '::text::float8
'x'::text::float8
'inf'::float8
'inf'::text::float8
'-Infinity'::text::float8
'nan'::text::float8
'1e400'::float8
'1e400'::text::float8
'1.5'::text::real
12::text
12::bigint::text
1.5::float8::text
1e20::float8::text
1e-7::float8::text
100000000::float8::text
'NaN'::float8::text
1.5::real::text
1e10::real::text
true::text
't'::bool
'yes'::bool
'off'::bool
'1'::bool
'maybe'::bool
'maybe'::text::bool
' true '::text::bool
'TRUE'::text::bool
'o'::text::bool
1::bool
0::bool
2::bool
true::int
false::int
1.5::bool
true::float8
1.5::float8::int
2.5::float8::int
-1.5::float8::int
3e9::float8::int
3e9::float8::bigint
'NaN'::float8::int
1e20::float8::bigint
70000::smallint
-70000::int::smallint
3000000000::int
16777217::real
123456789::real::text
0.1::real::float8
0.1::float8::real
1e39::float8::real
'a'::char
'abc'::char(5)
'abc'::char(2)
'abc'::varchar(2)
'abc'::text::varchar(2)
'abc  '::char(5) = 'abc'
length('ab'::char(5))
'ab'::char(5) || 'c'
'2024-01-02'::date
'2024-01-02'::text::date
'2024-1-2'::date
'2024-1-2'::text::date
'20240102'::date
'20240102'::text::date
'Jan 2, 2024'::date
'Jan 2, 2024'::text::date
'1/2/2024'::date
'1/2/2024'::text::date
'2024-13-01'::date
'2024-13-01'::text::date
'2024-02-30'::date
'2024-02-30'::text::date
'x'::date
'x'::text::date
''::text::date
'2024-01-02 03:04:05'::text::date
'2024-01-02 03:04:05'::timestamp
'2024-01-02 03:04:05'::text::timestamp
'2024-01-02T03:04:05.123456'::text::timestamp
'2024-01-02T03:04:05Z'::text::timestamp
'2024-01-02 03:04'::text::timestamp
'2024-01-02'::text::timestamp
'2024-01-02 25:00:00'::text::timestamp
'2024-01-02 24:00:00'::timestamp
'2024-01-02 03:04:05.1234567'::timestamp
'x'::text::timestamp
'2024-01-02 03:04:05+02'::timestamptz
'2024-01-02 03:04:05+02'::text::timestamptz
'2024-01-02 03:04:05 America/New_York'::timestamptz
'2024-01-02 03:04:05-05:30'::text::timestamptz
'2024-01-02 03:04:05'::text::timestamptz
'2024-01-02 03:04:05.5'::timestamp(0)
'2024-01-02 03:04:05.123456'::timestamp(3)
'2024-01-02 03:04:05.123956'::text::timestamp(3)
'2024-01-02 03:04:05.5'::timestamp::timestamp(0)
'2024-01-02 03:04:05'::timestamp::date
'2024-01-02 03:04:05'::timestamp::time
'2024-01-02 03:04:05+00'::timestamptz::timestamp
'2024-01-02 03:04:05'::timestamp::timestamptz
'2024-01-02'::date::timestamp
'2024-01-02'::date::timestamptz
'2024-01-02'::date::text
'2024-01-02 03:04:05.120'::timestamp::text
'2024-01-02 03:04:05+00'::timestamptz::text
'12:34:56'::time
'12:34:56'::text::time
'12:34'::text::time
'25:00'::text::time
'12:34:56.789'::time
'1:02 PM'::time
'1:02 PM'::text::time
'x'::text::time
'24:00:00'::time
'12:34:56'::time::text
'12:34:56'::time::interval
'1 day'::interval
'1 day 2 hours'::text::interval
'1 year 2 months 3 days 04:05:06.7'::text::interval
'-1 day'::text::interval
'1-2'::text::interval
'P1Y2M3DT4H5M6S'::interval
'P1Y2M3DT4H5M6S'::text::interval
'90'::interval
'90 minutes'::text::interval
'1.5 days'::text::interval
'2 weeks ago'::interval
'2 weeks ago'::text::interval
'x'::text::interval
'1 fortnight'::interval
'36 hours'::interval::text
'26 hours'::interval::time
interval '1' year
interval '1 day'
interval '3' month
interval '1-2' year to month
interval '1:30' hour to minute
date '2024-01-02'
timestamp '2024-01-02 03:04:05'
time '01:02:03'
timestamptz '2024-01-02 03:04:05+01'
'\x0a0b'::bytea
'\x0A0b'::text::bytea
'abc'::text::bytea
'a\\b'::bytea
'a\134b'::text::bytea
'\xzz'::bytea
'\xzz'::text::bytea
'\x0a0b'::bytea::text
'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid
'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'::text::uuid
'a0eebc999c0b4ef8bb6d6bb9bd380a11'::text::uuid
'{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}'::text::uuid
'x'::uuid
'x'::text::uuid
'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid::text
'{"a": 1}'::jsonb
'{"a": 1}'::text::jsonb
'{a: 1}'::jsonb
'{a: 1}'::text::jsonb
'{"a": 1,}'::text::jsonb
'nope'::text::jsonb
''::text::jsonb
'12'::jsonb::int
'12.7'::jsonb::int
'"12"'::jsonb::int
'true'::jsonb::bool
'null'::jsonb::int
'[1]'::jsonb::int
'1.5'::jsonb::numeric
'1.5'::jsonb::float8
'"a"'::jsonb::text
'{1,2,3}'::int[]
'{1,2,3}'::text::int[]
'{1,x}'::int[]
'{1,x}'::text::int[]
'{a,"b c",NULL}'::text[]
'{a,"b c",NULL}'::text::text[]
'{"a,b","c\"d"}'::text::text[]
'{{1,2},{3,4}}'::int[]
'{1,2'::int[]
'1,2'::text::int[]
array[1,2]::text[]
array['1','2']::int[]
array[1,2]::text
array['a b', NULL, '', 'null']::text
'1'::oid
1::text::int
now()::date = current_date
12::date
'2024-01-02'::date::int
true::date
cast(1 as text)
cast('5' as int) + 1
'5'::int8
'5'::int2
'5'::float4
'5'::decimal
'5'::nosuchtype
1::varchar
1::char(3)
row(1, 'a')::text
row(1, NULL, 'a b')::text
'1d'::text::float8
'1f'::text::float8
'Infinity'::text::real
'1e39'::text::real
'2024-01'::text::date
'2024'::text::date
'2024-01-02 3:4:5 PM'::text::timestamp
'2024-Jan-02'::text::date
'02-Jan-2024'::date
'12-25-2023'::text::date
'2024-01-02 03:04:05 PST'::text::timestamptz
'2024-01-02 03:04:05 Nowhere/Land'::text::timestamptz
'2024-01-02 03:04:05+25'::text::timestamptz
'{"a":1}  x'::text::jsonb
'[1,]'::text::jsonb
'01'::text::jsonb
'"\x"'::text::jsonb
'{1,"2", 3 }'::text::int[]
'{{1,2},{3}}'::text
'{1,,2}'::text::int[]
'{}'::text::int[]
'1 day 2'::text::interval
'1 day -2:30'::text::interval
'-1-2'::interval
'1.5 months'::text::interval
(0.1::float8 + 0.2::float8)::numeric
0.1::real::numeric
1234567.8::real::numeric
(-1e-7)::float8::numeric
round((1 / 3::float8)::numeric, 2)
date('2024-01-05 10:00'::text)
date(1)
int4(5.5)
int4('7')
int8(5)
float8(1)
text(1)
text(true)
bool('t')
bool(1)
'1e40'::real
'3.4028235e38'::real
sum(x) FROM (VALUES (9223372036854775807), (1)) v(x)
('a0ee-bc99-9c0b-4ef8-bb6d-6bb9-bd38-0a11' || left(only_column::text, 0))::uuid
'20240105T101112.5Z'::timestamptz
('20240105T101112+02' || left(only_column::text, 0))::timestamptz
('2024-01-05 101112' || left(only_column::text, 0))::timestamp

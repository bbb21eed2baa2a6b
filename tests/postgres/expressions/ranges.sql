-- Ranges
int4range(1, 5)
int4range(1, 5, '[]')
int4range(1, 5, '()')
int4range(1, 5, '(]')
int4range(1, 2, '()')
int4range(1, 1)
int4range(1, 1, '[]')
int4range(NULL, 5)
int4range(1, NULL, '(]')
int4range(NULL, NULL)
int4range(5, 1)
int4range(1, 5, NULL)
int4range(1, 5, 'x')
int4range(1, 2147483647, '[]')
int8range(1, 5, '[]')
numrange(1, 2.5, '(]')
numrange(1, 1, '[]')
numrange(1, 1)
daterange('2024-01-01', '2024-01-31', '[]')
tsrange('2024-01-01', '2024-01-31 10:00', '[]')
tstzrange('2024-01-01 00:00+02', NULL, '()')
'[1,5]'::int4range
'(,5]'::int4range
' [ 1 ,5) '::int4range
'EMPTY'::int4range
'(1,2)'::int4range
'["1","5")'::int4range
'("2024-01-01 10:00",2024-01-02]'::tsrange
'[1,5'::int4range
'1,5)'::int4range
'[1,2,3)'::int4range
'[5,1)'::int4range
'[a,b)'::int4range
'empty 1'::numrange
('[1,' || only_column + 4 || ']')::int4range
('(2024-01-01,"2024-01-0' || only_column + 2 || '"]')::daterange
('(,1' || only_column || '.5]')::numrange
('["2024-01-01 10:00",' || left('x', only_column - 1) || ')')::tstzrange
(left('empty', only_column + 4))::int8range
('[' || only_column)::int4range
('[7,' || only_column || ')')::int4range
'[1,5)'::int4range::text
tsrange('2024-01-01', NULL)::text
'{"[1,5)",NULL,empty}'::int4range[]
array[int4range(1, 2), NULL]
row(int4range(1, 2), numrange(NULL, 2))::text
lower(int4range(1, 5))
upper(int4range(1, 5))
lower(numrange(NULL, 5))
upper('empty'::daterange)
lower_inc(numrange(1, 2))
lower_inc(numrange(1, 2, '()'))
lower_inc(numrange(NULL, 2, '[]'))
lower_inc('empty'::numrange)
lower_inc(NULL::numrange)
upper_inc(numrange(1, 2))
upper_inc(numrange(1, 2, '[]'))
upper_inc(numrange(1, NULL, '[]'))
upper_inc('empty'::numrange)
upper_inc(NULL::numrange)
lower_inf(numrange(1, 2))
lower_inf(numrange(NULL, 2))
lower_inf('empty'::numrange)
lower_inf(NULL::numrange)
upper_inf(numrange(1, 2))
upper_inf(numrange(1, NULL))
upper_inf('empty'::numrange)
upper_inf(NULL::numrange)
isempty(int4range(1, 1))
isempty(int4range(1, 2))
isempty(NULL::int4range)
int4range(1, 5) @> 1
int4range(1, 5) @> 5
int4range(NULL, 5) @> -100
int4range(1, 1) @> 1
int4range(1, 5) @> NULL::int
NULL::int4range @> 1
numrange(1, 5, '(]') @> 1.0
numrange(1, 5, '(]') @> 5.0
2.5 <@ numrange(1, 5)
date '2024-01-01' <@ daterange('2024-01-01', NULL)
int4range(1, 9) @> int4range(2, 5)
int4range(1, 9) @> int4range(1, 9)
int4range(2, 5) @> int4range(1, 9)
int4range(1, 9) @> '[2,3)'
int4range(1, 9) @> 'empty'::int4range
'empty'::int4range @> int4range(1, 2)
'empty'::int4range @> 'empty'::int4range
int4range(NULL, NULL) @> int4range(NULL, 3)
numrange(1, 5, '()') @> numrange(1, 5)
numrange(1, 5) @> numrange(1, 5, '()')
numrange(1, 5) <@ numrange(1, 5, '[]')
numrange(1, NULL) <@ numrange(1, 5)
int4range(1, 5) && int4range(4, 9)
int4range(1, 5) && int4range(5, 9)
int4range(NULL, 5) && int4range(4, NULL)
int4range(1, 5) && 'empty'
NULL && int4range(1, 2)
numrange(1, 5, '[]') && numrange(5, 9)
numrange(1, 5) && numrange(5, 9)
numrange(1, 5, '[]') && numrange(5, 9, '()')
int4range(1, 5) << int4range(5, 9)
int4range(1, 5) << int4range(4, 9)
int4range(1, 5) << 'empty'
int4range(1, NULL) << int4range(5, 9)
int4range(5, 9) >> int4range(1, 5)
int4range(4, 9) >> int4range(1, 5)
numrange(5, 9) >> numrange(1, 5, '[]')
numrange(5, 9, '(]') >> numrange(1, 5, '[]')
int4range(1, 5) &< int4range(2, 5)
int4range(1, 6) &< int4range(2, 5)
int4range(1, NULL) &< int4range(2, NULL)
numrange(1, 5, '[]') &< numrange(0, 5)
'empty' &< int4range(1, 2)
int4range(2, 5) &> int4range(2, 3)
int4range(1, 5) &> int4range(2, 3)
int4range(NULL, 5) &> int4range(2, 3)
numrange(1, 5) &> numrange(1, 5, '()')
int4range(1, 5) -|- int4range(5, 9)
int4range(5, 9) -|- int4range(1, 5)
int4range(1, 4) -|- int4range(5, 9)
int4range(1, 5) -|- 'empty'
int4range(1, NULL) -|- int4range(NULL, 1)
numrange(1, 5) -|- numrange(5, 9)
numrange(1, 5, '[]') -|- numrange(5, 9)
numrange(1, 5, '[]') -|- numrange(5, 9, '()')
numrange(1, 5) -|- numrange(5, 9, '()')
int4range(1, 5) + int4range(5, 9)
int4range(1, 5) + int4range(2, 3)
int4range(1, 5) + 'empty'
int4range(NULL, 5) + int4range(2, NULL)
NULL + int4range(1, 2)
int4range(1, 5) + int4range(6, 9)
numrange(1, 5, '(]') + numrange(1, 5)
range_merge(int4range(1, 2), int4range(8, 9))
range_merge(numrange(1, 2), 'empty')
range_merge(numrange(NULL, 2), numrange(5, 6, '(]'))
int4range(1, 5) * int4range(3, 9)
int4range(1, 5) * int4range(5, 9)
int4range(NULL, 5) * int4range(3, NULL)
numrange(1, 5, '(]') * numrange(1, 9)
int4range(1, 2) * NULL
int4range(1, 5) - int4range(3, 9)
int4range(1, 5) - int4range(0, 3)
int4range(1, 5) - int4range(0, 9)
int4range(1, 5) - int4range(7, 9)
int4range(1, 5) - 'empty'
int4range(1, 5) - int4range(1, 3)
int4range(1, 9) - int4range(3, 5)
numrange(1, 5) - numrange(3, 9)
numrange(1, 5) - numrange(3, 9, '()')
numrange(1, 5, '[]') - numrange(0, 5)
numrange(1, 5) - numrange(0, 3, '[]')
numrange(NULL, NULL) - numrange(NULL, 3)
tsrange('2024-01-01', '2024-01-03') * tsrange('2024-01-02', NULL)
tstzrange('2024-01-01', '2024-01-03') @> timestamptz '2024-01-02'
daterange('2024-01-01', '2024-01-03') + daterange('2024-01-03', '2024-01-05')
int4range(1, 5) = int4range(1, 4, '[]')
int4range(1, 5) <> int4range(1, 5)
int4range(1, 1) = 'empty'
numrange(1, 5) = numrange(1, 5, '[]')
NULL = int4range(1, 2)
int4range(1, 5) < int4range(1, 6)
int4range(NULL, 5) < int4range(1, 2)
'empty' < int4range(NULL, 5)
int4range(1, NULL) > int4range(1, 5)
numrange(1, 2) < numrange(1, 2, '()')
numrange(1, 2) < numrange(1, 2, '[]')
int4range(1, 5) IN (int4range(2, 3), '[1,5)')
int4range(1, 5) BETWEEN 'empty' AND '[1,6)'
int4range(1, 5) IS NULL
int4range(1, 5) IS DISTINCT FROM NULL
nullif(int4range(1, 5), '[1,4]')
coalesce(NULL, int4range(1, 5))
greatest(int4range(1, 5), int4range(2, 3))
least(numrange(1, 5), 'empty')
CASE WHEN true THEN int4range(1, 5) END
pg_typeof(int4range(1, 5))::text
pg_typeof(lower(tstzrange(NULL, NULL)))::text
to_jsonb(int4range(1, 5))
jsonb_build_object('r', tsrange('2024-01-01', NULL))
int4range(1, 5) = ANY (array[int4range(1, 5)])
int4range(1, 5)::numrange
int4range(1, 5) && numrange(1, 5)
int4range(1, 5) @> 1.5
lower(1)

-- Three-valued logic, CASE, COALESCE, NULLIF, IN, BETWEEN, rows
NULL AND true
NULL AND false
NULL OR true
NULL OR false
NOT NULL
NULL = NULL
NULL <> 1
1 = NULL
NULL IS NULL
1 IS NOT NULL
NULL ISNULL
1 NOTNULL
true IS TRUE
NULL IS TRUE
NULL IS NOT TRUE
NULL IS FALSE
NULL IS UNKNOWN
true IS NOT UNKNOWN
1 IS DISTINCT FROM NULL
NULL IS DISTINCT FROM NULL
1 IS NOT DISTINCT FROM 1
1 IN (1, 2)
3 IN (1, 2)
3 IN (1, NULL)
1 IN (1, NULL)
NULL IN (1, 2)
3 NOT IN (1, NULL)
1 NOT IN (2, 3)
1 IN (1.0, 2)
'a' IN ('a', 'b')
(1, 2) IN ((1, 2), (3, 4))
(1, NULL) IN ((1, 2))
2 BETWEEN 1 AND 3
2 NOT BETWEEN 1 AND 3
2 BETWEEN 3 AND 1
2 BETWEEN SYMMETRIC 3 AND 1
2 BETWEEN NULL AND 1
NULL BETWEEN 1 AND 2
CASE WHEN true THEN 1 ELSE 2 END
CASE WHEN false THEN 1 END
CASE WHEN NULL THEN 1 ELSE 2 END
CASE 1 WHEN 1 THEN 'a' WHEN 2 THEN 'b' END
CASE NULL WHEN NULL THEN 1 ELSE 2 END
CASE WHEN true THEN 1 ELSE 2.5 END
CASE WHEN true THEN 1 ELSE 1 / 0 END
CASE WHEN x = 0 THEN 0 ELSE 1 / x END FROM (VALUES (0), (1)) v(x)
CASE WHEN true THEN 1 ELSE 'a' END
CASE WHEN true THEN 1 ELSE '2' END
CASE WHEN 1 THEN 1 END
coalesce(NULL, 1)
coalesce(NULL, NULL)
coalesce(NULL, 1, 1.5)
coalesce(1, 'x')
coalesce(1, '2')
coalesce(NULL, 'a')
nullif(1, 1)
nullif(1, 2)
nullif(NULL, 1)
nullif(1, 1.0)
nullif('a', 'b')
greatest(1, NULL, 3)
greatest(NULL, NULL)
least('2024-01-01'::date, '2023-01-01')
greatest('a', 'b')
greatest(1, 'x')
(1, 2) = (1, 2)
(1, 2) < (1, 3)
(1, 2) < (2, NULL)
(1, 2) <= (1, 2)
(1, NULL) = (1, 2)
(1, NULL) = (2, 2)
(1, NULL) <> (2, 2)
row(1, 2) = row(1, 2)
row(1, NULL) IS NULL
row(NULL, NULL) IS NULL
row(1, NULL) IS NOT NULL
row(1, 2) IS NOT NULL
row(1, 2) IS DISTINCT FROM row(1, 2)
true AND 1
1 AND 1
true > false
true = 't'
NOT true = false
NOT 1 = 2 AND true
true OR false AND false
1 = ANY (array[1, 2])
3 = ANY (array[1, NULL])
1 <> ALL (array[2, 3])
1 <> ALL (array[2, NULL])
1 = ALL ('{}'::int[])
1 = ANY ('{}'::int[])
1 < ANY (array[0, 2])
NULL = ANY (array[1])
1 = ANY (NULL::int[])
1 = SOME (array[1])
2 > ALL (SELECT 1)
2 = ANY (SELECT 2)
2 < ANY (SELECT 2 UNION ALL SELECT 3)
EXISTS (SELECT 1)
EXISTS (SELECT 1 WHERE false)
(SELECT 1)
(SELECT 1 WHERE false)
(SELECT 1, 2)
(SELECT x FROM (VALUES (1), (2)) v(x))
num_nulls(1, NULL, 2)
num_nonnulls(1, NULL, 2)
bool 'true'
true::text || 'x'
'x' = 1
'1' = 1
'x' = 'x'::text
1 = '1'::text
pg_typeof(1)::text
pg_typeof(1.5)::text
pg_typeof('a')::text
pg_typeof('a'::text)::text
pg_typeof(1::bigint + 1)::text
pg_typeof(now())::text
pg_typeof(array[1])::text
pg_typeof(NULL)::text
pg_typeof('2024-01-01'::date + 1)::text
pg_typeof('2024-01-01'::date - '2023-01-01'::date)::text
(1, 2) = (select 1, 2)
(1, 2) < (select 1, 3)
(1, 2) = (select 1, 2 where false)
(1, 2) = (select 1)
(1, 2) = (select 1, 2, 3)
row(1, 2) IS DISTINCT FROM row(1, NULL)
(1, NULL) IS NOT DISTINCT FROM (1, NULL)
(1, 2) IS DISTINCT FROM (1, 2, 3)

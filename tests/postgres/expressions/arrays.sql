-- Arrays
array[1, 2, 3]
array['a', 'b c', NULL, '', 'null', 'x"y', 'x\y', '{}']
array[1, 2.5]
array[NULL, 1]
array[]::int[]
array[[1, 2], [3, 4]]
array[1, 'a']
'{}'::int[]
(array[1, 2, 3])[1]
(array[1, 2, 3])[0]
(array[1, 2, 3])[4]
(array[1, 2, 3])[-1]
(array[1, 2, 3])[2:3]
(array[1, 2, 3])[2:]
(array[1, 2, 3])[:2]
(array[1, 2, 3])[5:6]
(array[1, 2, 3])[NULL]
(array[[1, 2], [3, 4]])[2][1]
array[1, 2] || array[3]
array[1, 2] || 3
1 || array[2, 3]
array[1, 2] || NULL
NULL || array[1, 2]
array[1] || '{2,3}'
array['a'] || 'b'::text
array_append(array[1], 2)
array_append(NULL::int[], 2)
array_prepend(1, array[2])
array_cat(array[1], array[2])
array_length(array[1, 2], 1)
array_length(array[1, 2], 2)
array_length('{}'::int[], 1)
array_lower(array[1, 2], 1)
array_upper(array[1, 2], 1)
array_upper('{}'::int[], 1)
array_ndims(array[1])
array_ndims(array[[1, 2], [3, 4]])
array_dims(array[1, 2])
array_dims(array[[1, 2], [3, 4]])
cardinality(array[1, 2, 3])
cardinality('{}'::int[])
cardinality(array[[1, 2], [3, 4]])
array_position(array['a', 'b'], 'b')
array_position(array['a', 'b'], 'x')
array_position(array['a', NULL], NULL)
array_positions(array[1, 2, 1], 1)
array_remove(array[1, 2, 1], 1)
array_remove(array[1, NULL], NULL)
array_replace(array[1, 2, 1], 1, 5)
array_fill(7, array[3])
array_reverse(array[1, 2, 3])
array_sort(array[3, 1, 2])
trim_array(array[1, 2, 3], 2)
array_to_string(array[1, 2, NULL, 3], ',', '*')
array[1, 2] @> array[1]
array[1, 2] @> array[3]
array[1, NULL] @> array[NULL]::int[]
array[1] <@ array[1, 2]
array[1, 2] && array[2, 3]
array[1, 2] && array[3]
array[1, NULL] && array[3]
array[1, 2] = array[1, 2]
array[1, 2] <> array[2, 1]
array[1, 2] < array[1, 3]
array[1, 2] < array[1, 2, 3]
array[1, NULL] = array[1, NULL]
array[1, NULL] < array[1, 2]
unnest(array[1, 2])
array(SELECT x FROM (VALUES (2), (1)) v(x) ORDER BY x)
array(SELECT 1 WHERE false)
1 = ANY (array[1, 2])
array[1] IS NULL
array_agg(x ORDER BY x DESC) FROM (VALUES (1), (2)) v(x)
array['2024-01-02'::date, NULL]
array[true, false]
array[1.5::float8, 'NaN']
array['2024-01-02 03:04:05'::timestamp]
array[interval '1 day']
array['\x0a'::bytea]
'{1,2}'::int[] = array[1, 2]
array_cat(NULL, array[1])
string_to_array('1,2', ',')::int[]
generate_subscripts(array[5, 6], 1)
(array['x', 'y'])[i] FROM (VALUES (1), (2), (3)) v(i)
unnest(array[[1, 2], [3, 4]])

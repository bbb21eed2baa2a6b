-- jsonb: operators, functions, paths
'{"a": 1, "b": [1, 2]}'::jsonb
'{"b": 1, "a": 2}'::jsonb
'{"a": 1, "a": 2}'::jsonb
' [1,  2 , "x"] '::jsonb
'1.0'::jsonb
'1e2'::jsonb
'"a\u00e4\n"'::jsonb
'"\ud83d\ude00"'::jsonb
'null'::jsonb
'12345678901234567890123'::jsonb
'0.1'::jsonb
'{"a": {"b": null}}'::jsonb
'{"a": 1}'::jsonb -> 'a'
'{"a": 1}'::jsonb -> 'b'
'{"a": null}'::jsonb -> 'a'
'{"a": null}'::jsonb ->> 'a'
'{"a": "x"}'::jsonb ->> 'a'
'{"a": "x"}'::jsonb -> 'a'
'{"a": true}'::jsonb ->> 'a'
'{"a": {"b": "c"}}'::jsonb -> 'a' ->> 'b'
'[1, 2, 3]'::jsonb -> 0
'[1, 2, 3]'::jsonb -> -1
'[1, 2, 3]'::jsonb -> 5
'[1, 2, 3]'::jsonb ->> 1
'[1, "a"]'::jsonb ->> 1
'[1, 2]'::jsonb -> 'a'
'{"0": 1}'::jsonb -> 0
'"x"'::jsonb -> 0
'"x"'::jsonb -> 'a'
'{"a": {"b": [1, {"c": "d"}]}}'::jsonb #> '{a,b,1,c}'
'{"a": {"b": [1, {"c": "d"}]}}'::jsonb #>> '{a,b,1,c}'
'{"a": {"b": [1, 2]}}'::jsonb #> '{a,b,-1}'
'{"a": 1}'::jsonb #> '{}'
'{"a": 1}'::jsonb #>> '{x,y}'
'{"a": {"0": 5}}'::jsonb #> '{a,0}'
'{"a": 1}'::jsonb #>> array['a']
'{"a": 1, "b": 2}'::jsonb @> '{"a": 1}'
'{"a": 1}'::jsonb @> '{"a": 2}'
'{"a": {"b": 1, "c": 2}}'::jsonb @> '{"a": {"b": 1}}'
'[1, 2, 3]'::jsonb @> '[1, 3]'
'[1, 2, 3]'::jsonb @> '1'
'[1, 2]'::jsonb @> '[1, 1]'
'[[1, 2]]'::jsonb @> '[[1]]'
'{"a": [1, 2]}'::jsonb @> '{"a": [2]}'
'{"a": 1}'::jsonb <@ '{"a": 1, "b": 2}'
'{"a": 1}'::jsonb @> '{}'
'1'::jsonb @> '1'
'{"a": 1.0}'::jsonb @> '{"a": 1}'
a @> b FROM (VALUES ('{"a": 1, "b": [1, {"c": 2}]}'::jsonb, '{"b": [{"c": 2}]}'::jsonb), ('[1]', '[2]'), ('{}', '{"a": 1}')) v(a, b)
'{"a": 1}'::jsonb ? 'a'
'{"a": 1}'::jsonb ? 'b'
'["a", "b"]'::jsonb ? 'a'
'"a"'::jsonb ? 'a'
'[1]'::jsonb ? '1'
'{"a": 1, "b": 2}'::jsonb ?| array['x', 'b']
'{"a": 1, "b": 2}'::jsonb ?& array['a', 'b']
'{"a": 1, "b": 2}'::jsonb ?& array['a', 'x']
'{"a": 1}'::jsonb || '{"b": 2}'
'{"a": 1}'::jsonb || '{"a": 2}'
'[1]'::jsonb || '[2]'
'[1]'::jsonb || '2'
'1'::jsonb || '2'
'[1]'::jsonb || '{"a": 1}'
'{"a": 1}'::jsonb || '[1]'
'{"a": 1}'::jsonb || '1'
'{"a": 1, "b": 2}'::jsonb - 'a'
'["a", "b", "a"]'::jsonb - 'a'
'[1, 2, 3]'::jsonb - 1
'[1, 2, 3]'::jsonb - (-1)
'{"a": 1}'::jsonb - 1
'1'::jsonb - 'a'
'{"a": 1, "b": 2, "c": 3}'::jsonb - array['a', 'c']
'{"a": {"b": 1, "c": 2}}'::jsonb #- '{a,b}'
'[1, [2, 3]]'::jsonb #- '{1,0}'
'{"a": 1}'::jsonb = '{"a": 1.0}'
'{"a": 1, "b": 2}'::jsonb = '{"b": 2, "a": 1}'
'[1, 2]'::jsonb = '[2, 1]'
'1'::jsonb < '2'
'10'::jsonb > '9'
'"a"'::jsonb < '"b"'
'null'::jsonb < '1'
'1'::jsonb < 'true'
'[]'::jsonb < '{}'
jsonb_typeof('1')
jsonb_typeof('"a"')
jsonb_typeof('null')
jsonb_typeof('[]')
jsonb_typeof('{}')
jsonb_typeof('true')
jsonb_array_length('[1, 2, 3]')
jsonb_array_length('[]')
jsonb_array_length('{"a": 1}')
jsonb_build_object('a', 1, 'b', 'x', 'c', NULL)
jsonb_build_object('a', true, 'b', 1.50, 'c', array[1, 2])
jsonb_build_object('d', '2024-01-02'::date, 't', '2024-01-02 03:04:05'::timestamp)
jsonb_build_object('z', '2024-01-02 03:04:05.5+00'::timestamptz)
jsonb_build_object('a')
jsonb_build_object(NULL, 1)
jsonb_build_array(1, 'a', NULL, true, 1.5)
jsonb_build_array()
jsonb_build_object()
to_jsonb(1)
to_jsonb('a'::text)
to_jsonb(1.50)
to_jsonb(1.5::float8)
to_jsonb(1e20::float8)
to_jsonb('NaN'::float8)
to_jsonb(true)
to_jsonb(array[1, 2])
to_jsonb(array['a', NULL])
to_jsonb('2024-01-02'::date)
to_jsonb('2024-01-02 03:04:05'::timestamp)
to_jsonb('{"a": 1}'::jsonb)
to_jsonb(NULL::int)
to_jsonb(interval '1 day')
to_jsonb(row(1, 'a'))
to_jsonb(E'a"b\\c\n'::text)
jsonb_strip_nulls('{"a": 1, "b": null, "c": {"d": null}}')
jsonb_strip_nulls('[1, null]')
jsonb_pretty('{"a": 1, "b": [1, 2], "c": {}}')
jsonb_set('{"a": 1}', '{a}', '2')
jsonb_set('{"a": 1}', '{b}', '2')
jsonb_set('{"a": 1}', '{b}', '2', false)
jsonb_set('{"a": {"b": 1}}', '{a,b}', '"x"')
jsonb_set('[1, 2, 3]', '{1}', '9')
jsonb_set('[1, 2, 3]', '{-1}', '9')
jsonb_set('[1]', '{5}', '9')
jsonb_insert('{"a": [0, 1, 2]}', '{a,1}', '"new"')
jsonb_insert('{"a": [0, 1, 2]}', '{a,1}', '"new"', true)
jsonb_extract_path('{"a": {"b": 1}}', 'a', 'b')
jsonb_extract_path_text('{"a": {"b": "x"}}', 'a', 'b')
jsonb_object('{a, 1, b, 2}')
jsonb_object('{a, b}', '{1, 2}')
('{"a": 5}'::jsonb -> 'a')::int + 1
('{"a": "5"}'::jsonb ->> 'a')::int + 1
('{"a": {"b": 5}}'::jsonb)['a']['b']
'{"a": "it''s"}'::jsonb ->> 'a'
'{"a.b": 1, "a b": 2, "ä": 3}'::jsonb -> 'a.b'
'{"a.b": 1, "a b": 2, "ä": 3}'::jsonb ->> 'a b'
'{"a.b": 1, "a b": 2, "ä": 3}'::jsonb ->> 'ä'
'{"A": 1}'::jsonb -> 'a'
d ->> k FROM (VALUES ('{"a": 1, "b": "x"}'::jsonb, 'a'), ('{"a": 1, "b": "x"}', 'b'), ('[1]', 'a'), (NULL, 'a')) v(d, k)
d -> i FROM (VALUES ('[1, "x"]'::jsonb, 0), ('[1, "x"]', 1), ('[1, "x"]', -1), ('{}', 0)) v(d, i)
d #>> p FROM (VALUES ('{"a": [1, {"b": "c"}]}'::jsonb, '{a,1,b}'::text[]), ('{"a": 1}', '{b}')) v(d, p)
'{"a": 1}'::json ->> 'a'
'a'::jsonb
jsonb_array_elements('[1, 2]')
jsonb_object_keys('{"b": 1, "a": 2}')
jsonb_array_elements_text('["a", 1, null]')
jsonb_array_elements('{"a": 1}')
'"x"'::jsonb ->> 0
'"x"'::jsonb -> -1
'12'::jsonb ->> 'a'
'{"a": {"b": {"c": "d"}}}'::jsonb -> 'a' -> 'b' ->> 'c'
'{"a": [{"b": 1}]}'::jsonb -> 'a' -> 0 -> 'b'
'{"a": [{"b": "x"}]}'::jsonb -> 'a' -> 0 ->> 'b'
array_length(array[[1, 2], [3, 4]], 2)
json_typeof('[1]'::json)
json_array_length('[1, 2]'::json)
json_extract_path_text('{"a": {"b": 1}}'::json, 'a', 'b')
array_to_json(array[1, 2])::text
'{"k": 1}'::jsonb -> 'k' -> 0
'{"k": 1}'::jsonb -> 'k' -> 1
'{"k": 1}'::jsonb -> 'k' -> -1
'{"k": "x"}'::jsonb -> 'k' ->> 0
'{"k": "x"}'::jsonb -> 'k' -> 'y'
'{"a":[1]}'::jsonb -> 'a' -> '0'
'{"a":[1]}'::jsonb -> 'a' ->> '0'
'{"a":{"0":5}}'::jsonb -> 'a' -> 0
'{"a":{"0":5}}'::jsonb -> 'a' ->> '0'
'{"a":[[1,2],"x"]}'::jsonb -> 'a' -> 0 ->> 1
'{"a":[[1,2],"x"]}'::jsonb -> 'a' -> 5 ->> 0
'{"[0]":{"a":7}}'::jsonb -> '[0]' -> 'a'
'{"a":{"[0]":7}}'::jsonb -> 'a' ->> '[0]'
jsonb_object_keys('[1]')
jsonb_object_agg(k, v) FROM (VALUES (NULL, 1)) v(k, v)
* FROM jsonb_each('[1]')
* FROM jsonb_each_text('1')
'{"a":1}' IS JSON
'[1' IS JSON
'[1' IS NOT JSON
' [1]' IS JSON ARRAY
'{"a":1}' IS JSON SCALAR
'1' IS JSON SCALAR
NULL::text IS JSON
('{"a":' || only_column::text || '}') IS JSON OBJECT
'{"a":1}'::jsonb IS JSON OBJECT

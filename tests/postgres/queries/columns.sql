-- The same functions on columns, with NULLs among the rows: constants are folded, columns are not
CREATE TABLE co (id int, i int, b bigint, n numeric(12,3), f float8, s text, p text, d date, t timestamp, z timestamptz, v interval, c time, j jsonb, a int[], x text[], y bytea, o boolean);
INSERT INTO co VALUES
  (1, 7, 70, 1.500, 0.5, 'Hello World', 'o.', '2024-02-29', '2024-02-29 12:34:56.789', '2024-02-29 12:34:56+00', '1 day 02:03:04', '12:34:56', '{"a": {"b": [1, 2]}, "n": 1.5}', '{1,2,3}', '{a,b}', '\x0a0b', true),
  (2, -7, -70, -2.345, -1e10, '', '', '1999-12-31', '1999-12-31 23:59:59', '1999-12-31 23:59:59+00', '-1 mons', '00:00', '[1, "x", null]', '{}', '{}', '', false),
  (3, 0, 0, 0, 0, 'a,b,,c', ',', '0001-01-01', '1970-01-01', '1970-01-01 00:00+00', '00:00:00', '23:59:59.999999', '"text"', '{NULL}', '{NULL,""}', '\xff', NULL),
  (4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
SELECT id, abs(i), sign(f), -n, i % 4, b / 3, round(n), round(n, 1), trunc(n), ceil(n), floor(f), i::text, n::int, f::numeric FROM co;
SELECT id, i + b, i + n, i + f, n + f, i * 1.5, n * n, n / 3, i & 5, i | 8, i # 3, ~i, i << 2, i >> 1 FROM co;
SELECT id, sqrt(abs(f)), power(i, 2), exp(f / 1e11), mod(i, 3), gcd(i, 21), greatest(i, b, 5), least(i, NULL, 3), nullif(i, 7), width_bucket(n, -3, 3, 6) FROM co;
SELECT id, to_hex(b), to_char(i, 'FM0000'), to_char(n, '999.99'), to_char(f, 'FM999999999990.0') FROM co;
SELECT id, upper(s), lower(s), length(s), initcap(s), reverse(s), left(s, 3), right(s, -2), substring(s, 2, 3), s || '!', md5(s), ascii(s), lpad(s, 5, '*'), rpad(s, 3) FROM co;
SELECT id, position('o' in s), replace(s, 'o', '0'), translate(s, 'lo', 'xy'), split_part(s, ',', 2), string_to_array(s, ','), trim(s), concat(s, i, o), concat_ws('-', s, i), quote_literal(s), format('%s=%s', id, s), starts_with(s, p) FROM co;
SELECT id, s LIKE '%o%', s ILIKE 'h%', s ~ p, s ~* 'WORLD', regexp_replace(s, 'o', '0', 'g'), regexp_match(s, '(.)o'), regexp_split_to_array(s, ','), s SIMILAR TO '%(o|a)%', regexp_count(s, 'o'), substring(s from 'l+') FROM co;
SELECT id, s LIKE p, s LIKE p || '%', regexp_replace(s, 'l', p), s NOT LIKE '%b%', s ~ ANY (x), s LIKE ANY (array['H%', p]) FROM co;
SELECT id, d + 1, d - 30, d + v, d - '2000-01-01'::date, extract(year from d), extract(dow from d), extract(week from d), date_trunc('month', d), to_char(d, 'FMDay DD FMMonth YYYY'), d::text FROM co WHERE id <> 3;
SELECT id, t + v, t - v, t - '2000-01-01', extract(epoch from t), extract(second from t), date_part('hour', t), date_trunc('hour', t), date_bin('15 minutes', t, '2001-01-01'), to_char(t, 'YYYY-MM-DD HH12:MI:SS.MS AM'), t::date, t::time FROM co;
SELECT id, z + v, z AT TIME ZONE 'America/New_York', z::timestamp, t::timestamptz, extract(hour from z), date_trunc('day', z), date_trunc('day', z, 'Asia/Tokyo'), age(z, '1970-01-01 00:00+00'), to_char(z, 'TZ'), z::text FROM co;
SELECT id, v * 2, v / 2, -v, v + '1 hour', v::text, extract(epoch from v), justify_hours(v), justify_days(v + v), v * -0.3, c + v, c::text, c - '01:00'::time, v::time FROM co;
SELECT id, j -> 'a', j ->> 'n', j #> '{a,b,0}', j #>> '{a,b,1}', j -> 1, j ->> 0, jsonb_typeof(j), j ? 'a', j @> '[1]', j || '[9]', to_jsonb(s), jsonb_build_object('k', i, 's', s), jsonb_build_array(i, o, n) FROM co;
SELECT id, jsonb_strip_nulls(j), jsonb_set(j, '{a}', '1') FROM co WHERE id = 1;
SELECT id, (j -> 'n')::numeric, (j ->> 'n')::float8, (j -> 'a' -> 'b' -> 1)::int FROM co WHERE id = 1;
SELECT id, a[1], a[2:], array_length(a, 1), cardinality(a), a || 9, 0 || a, a || a, array_position(a, 2), array_remove(a, 2), array_to_string(a, '-', '?'), 2 = ANY (a), 5 <> ALL (a), a @> array[1], a && array[3, 4], a = '{1,2,3}', a::text, x::text, array_append(x, s) FROM co;
SELECT id, length(y), encode(y, 'hex'), y || '\x01', y::text, substring(y, 2), md5(y), sha256(y) FROM co;
SELECT id, o IS TRUE, o IS NOT FALSE, NOT o, o AND i > 0, o OR i > 0, o::text, o::int, i::bool, CASE WHEN o THEN s ELSE p END, coalesce(o, false), o = true FROM co;
SELECT id, row(i, s)::text, (i, s) = (7, 'Hello World'), (i, b) < (0, 0), row(i, s) IS NULL, i IN (7, 0), i NOT IN (7, NULL), i BETWEEN -10 AND 0, i IS DISTINCT FROM 7, num_nulls(i, s, d) FROM co;
SELECT id FROM co ORDER BY f DESC NULLS LAST, id;
SELECT id FROM co ORDER BY s NULLS FIRST;
SELECT id FROM co ORDER BY d, t;
SELECT id FROM co ORDER BY a, id;
SELECT i::text::int, n::text::numeric, f::text::float8, d::text::date, t::text::timestamp, z::text::timestamptz, v::text::interval, c::text::time, a::text::int[], x::text::text[], y::text::bytea, o::text::bool FROM co;
SELECT 1 / i FROM co;
SELECT s::int FROM co;
SELECT s::date FROM co;
SELECT s::jsonb FROM co;
SELECT (i + 2147483640)::int FROM co;
SELECT j::int FROM co;
SELECT p::interval FROM co;
SELECT sqrt(f) FROM co;
SELECT ln(n) FROM co;
SELECT chr(i) FROM co;
SELECT split_part(s, ',', i) FROM co;
SELECT s ~ '(' FROM co;
CREATE MATERIALIZED VIEW co_made AS SELECT id, to_char(t, 'YYYY-MM') AS month, regexp_replace(s, '[aeiou]', '_', 'g') AS masked, j #>> '{a,b,0}' AS deep, age('2024-03-01', t) AS age, a || i AS more, jsonb_build_object('id', id, 's', s) AS doc, f::text AS shown, extract(epoch from v) AS seconds FROM co;
CREATE MATERIALIZED VIEW co_grouped AS SELECT date_trunc('year', t) AS year, percentile_cont(0.5) WITHIN GROUP (ORDER BY f) AS middle, mode() WITHIN GROUP (ORDER BY o) AS usual, sum(v) AS span, jsonb_object_agg(id, s) AS docs, bit_or(i) AS bits FROM co WHERE id < 10 GROUP BY 1;
UPDATE co SET s = 'changed', t = t + '1 year', i = i + 1;
DELETE FROM co WHERE id = 2;
INSERT INTO co (id, s, f, t) VALUES (5, 'é "quoted"', 1e20, '2024-12-31');

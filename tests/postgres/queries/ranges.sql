-- Ranges as keys, in order, in joins and views, under changes of rows
CREATE TABLE rg (k int, r int4range, d daterange, n numrange, t tsrange, z tstzrange, b int8range, a int4range[]);
INSERT INTO rg VALUES
  (1, '[1,5]', '[2024-01-01,2024-02-01)', '(1.5,2]', '[2024-01-01,2024-01-02]', '(2024-01-01,)', '[1,2)', '{"[1,2)",empty}'),
  (2, '[1,6)', '[2024-01-01,2024-01-31]', '[1.5,2]', '(2024-01-01,2024-01-02]', '[2024-01-01 02:00+02,)', '(0,1]', '{}'),
  (3, 'empty', '(,)', '(,2)', '[2024-01-01,2024-01-02)', 'empty', '[5,)', NULL),
  (4, '(,3)', 'empty', '[2,)', '(,)', '(,2024-01-01]', '(,-9223372036854775807)', '{NULL}'),
  (5, '[3,)', '[2024-01-31,)', 'empty', 'empty', '(,)', 'empty', '{"(,)"}'),
  (6, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
SELECT * FROM rg;
SELECT k, r, n, r IN (SELECT int4range(1, 6)), n > '[1.7,2)' FROM rg ORDER BY r, n DESC, k;
SELECT k, rank() OVER (ORDER BY t), rank() OVER (ORDER BY z), lag(r) OVER (ORDER BY k), first_value(n) OVER (PARTITION BY r ORDER BY k) FROM rg;
SELECT r, count(*), count(DISTINCT d), array_agg(b ORDER BY b) FROM rg GROUP BY r;
SELECT r::text, d::text, n::text, t::text, z::text, b::text, a::text FROM rg;
SELECT x.k, y.k, x.r * y.r, range_merge(x.r, y.r) FROM rg x LEFT JOIN rg y ON x.r @> y.r AND x.k <> y.k;
SELECT k, lower(r), upper(r), lower_inc(r), upper_inc(r), lower_inf(r), upper_inf(r), isempty(r), r @> 3, 3 <@ r, r << '[6,7)', r -|- '[6,7)', r &< '[1,5]' FROM rg;
SELECT k, int4range(k, k + 2), int4range(k, NULL, '()'), numrange(k, k + 1, '[]'), n::text::numrange = n, t::text::tsrange = t, z::text::tstzrange = z, d::text::daterange = d FROM rg;
SELECT r FROM rg UNION SELECT int4range(1, 6) EXCEPT SELECT NULL;
CREATE MATERIALIZED VIEW rg_counts AS SELECT r, count(*) AS n, min(k) AS k FROM rg GROUP BY r;
CREATE MATERIALIZED VIEW rg_distinct AS SELECT DISTINCT r, d, n, t, z, b FROM rg;
CREATE MATERIALIZED VIEW rg_same AS SELECT x.k, y.k AS other, z.k AS third, x.r * z.r AS common FROM rg x LEFT JOIN rg y ON x.r = y.r AND x.k < y.k LEFT JOIN rg z ON x.r && z.r AND x.k < z.k;
INSERT INTO rg (k, r) VALUES (7, '[1,5]'), (8, 'empty'), (9, '(1,1]'), (10, '[2,4)');
UPDATE rg SET r = r * '[2,)', n = numrange(0, 1) WHERE k IN (1, 4, 7);
DELETE FROM rg WHERE isempty(r) OR r = '[2,5]';
INSERT INTO rg (k, r) VALUES (11, 5);
INSERT INTO rg (k, r) VALUES (11, '[5,1)');

-- Aggregates: NULLs, empty groups, FILTER, DISTINCT, ORDER BY inside, types of results
CREATE TABLE ag (k int, s text, i int, b bigint, n numeric(10,2), f float8, r real, ok boolean, d date);
INSERT INTO ag VALUES
  (1, 'x', 1, 10, 1.50, 0.5, 1.5, true, '2024-01-01'),
  (1, 'y', 2, 20, 2.25, 1.5, 2.5, false, '2024-02-01'),
  (1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  (2, 'x', 3, 30, -1.00, -2.5, 0.5, true, '2023-12-31'),
  (2, 'x', 3, 40, 0.10, 100, 0.25, true, '2024-01-01'),
  (NULL, 'z', 5, 50, 7, 1e10, 3, NULL, NULL);
SELECT k, count(*), count(i), sum(i), sum(b), sum(n), sum(f), sum(r) FROM ag GROUP BY k;
SELECT k, avg(i), avg(b), avg(n), avg(f), avg(r) FROM ag GROUP BY k;
SELECT k, min(i), max(i), min(s), max(s), min(d), max(d), min(n), max(f) FROM ag GROUP BY k;
SELECT count(*), count(i), sum(i), avg(i), min(i), max(s), bool_and(ok), bool_or(ok), every(ok) FROM ag WHERE false;
SELECT k, bool_and(ok), bool_or(ok), every(ok) FROM ag GROUP BY k;
SELECT count(DISTINCT s), count(DISTINCT k), sum(DISTINCT i), avg(DISTINCT i) FROM ag;
SELECT k, count(*) FILTER (WHERE i > 1), sum(i) FILTER (WHERE ok), sum(i) FILTER (WHERE false) FROM ag GROUP BY k;
SELECT k, string_agg(s, ',' ORDER BY s), string_agg(s, ',' ORDER BY s DESC), string_agg(DISTINCT s, '-' ORDER BY s) FROM ag GROUP BY k;
SELECT k, array_agg(i ORDER BY i), array_agg(i ORDER BY i DESC NULLS LAST), array_agg(s ORDER BY s) FROM ag GROUP BY k;
SELECT array_agg(i) FROM ag WHERE false;
SELECT string_agg(s, NULL ORDER BY s) FROM ag;
SELECT k, jsonb_agg(i ORDER BY i), jsonb_agg(s ORDER BY s) FROM ag GROUP BY k;
SELECT jsonb_object_agg(s, i ORDER BY i) FROM ag WHERE s IS NOT NULL;
SELECT k, round(stddev(i), 12), variance(i), stddev_pop(i), var_pop(i), round(stddev_samp(i), 12), var_samp(i) FROM ag GROUP BY k;
SELECT round(stddev(f)::numeric, 6), round(variance(f)::numeric, 3) FROM ag WHERE k IS NOT NULL;
SELECT round(stddev(n), 6), round(variance(n), 6), round(var_pop(n), 6), round(stddev_pop(b), 6) FROM ag;
SELECT k, regr_count(i, b), corr(i, b), covar_pop(i, k), covar_samp(i, i * i), regr_avgx(i, k), regr_avgy(i, i + 1), regr_sxx(i, k), regr_syy(i, k), regr_sxy(i, i), regr_slope(i, i * 2), regr_intercept(i, i), regr_r2(i, i) FROM ag GROUP BY k;
SELECT regr_count(i, k), round(corr(i, k)::numeric, 12), round(covar_pop(i, k)::numeric, 12), round(covar_samp(i, k)::numeric, 12), round(regr_slope(i, k)::numeric, 12), round(regr_intercept(i, k)::numeric, 12), round(regr_r2(i, k)::numeric, 12), regr_sxx(i, k), regr_syy(k, i) FROM ag;
SELECT regr_count(f, n), round(corr(f, n)::numeric, 12), round(covar_pop(f, r)::numeric, 6), round(covar_samp(n, r)::numeric, 12), round(regr_slope(r, n)::numeric, 12), round(regr_intercept(r, n)::numeric, 12), round(regr_r2(r, n)::numeric, 12), regr_avgx(f, r), corr(f, f) FROM ag WHERE k IS NOT NULL;
SELECT regr_count(f, n), corr(f, n), corr(i, k), covar_pop(i, k), covar_samp(f, f), regr_r2(i, i), corr('NaN'::float8, i) FROM ag WHERE i = 1;
SELECT regr_count(f, n), corr(f, n), regr_avgx(i, k) FROM ag WHERE false;
SELECT k, covar_pop(i, b) FILTER (WHERE s = 'x'), corr(DISTINCT i, k), regr_r2(i, 1) FROM ag GROUP BY k;
SELECT corr(s, i) FROM ag;
SELECT corr(i) FROM ag;
SELECT s, count(*) FROM ag GROUP BY s HAVING count(*) > 1;
SELECT k % 2 AS odd, sum(i) FROM ag GROUP BY k % 2;
SELECT k % 2 AS odd, sum(i) FROM ag GROUP BY odd;
SELECT k, s, count(*) FROM ag GROUP BY 1, 2;
SELECT sum(i) + 1, max(i) - min(i), sum(i) * 1.0 / count(*) FROM ag;
SELECT sum(i * 2) FILTER (WHERE k = 1) + coalesce(sum(i) FILTER (WHERE k = 9), 0) FROM ag;
SELECT k, coalesce(sum(n), 0) FROM ag GROUP BY k HAVING sum(n) > 0 OR sum(n) IS NULL;
SELECT bit_and(i), bit_or(i), bit_xor(i) FROM ag;
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY f) FROM ag WHERE k IS NOT NULL;
SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY i) FROM ag;
SELECT mode() WITHIN GROUP (ORDER BY i) FROM ag;
SELECT any_value(k) FROM ag WHERE k = 2;
SELECT json_agg(i ORDER BY i)::text = '[1, 2]' FROM ag WHERE k = 1 AND i IS NOT NULL AND false;
SELECT sum(s) FROM ag;
SELECT k, i FROM ag GROUP BY k;
SELECT sum(9223372036854775807 - i + i) FROM ag WHERE k = 1;
SELECT sum(2147483647) FROM ag;
SELECT min(x), max(x) FROM (VALUES ('NaN'::float8), (1), ('-Infinity')) v(x);
SELECT count(*) FROM (SELECT DISTINCT s FROM ag) d;
SELECT string_agg(i::text, ',' ORDER BY i) FILTER (WHERE i > 1) FROM ag;
SELECT array_agg(DISTINCT s ORDER BY s) FROM ag;
SELECT max(array[i, 0]) FROM ag WHERE i IS NOT NULL;
SELECT avg(x) FROM (VALUES (interval '1 day'), (interval '2 days')) v(x);
SELECT sum(x) FROM (VALUES (interval '1 day'), (interval '2 hours')) v(x);
SELECT k, percentile_disc(0.25) WITHIN GROUP (ORDER BY s DESC), percentile_cont(0.75) WITHIN GROUP (ORDER BY i) FROM ag GROUP BY k;
SELECT percentile_cont(array[0.25, NULL, 0.9]) WITHIN GROUP (ORDER BY i), percentile_disc(array[0.0, 0.5, 1]) WITHIN GROUP (ORDER BY s) FROM ag;
SELECT percentile_cont(1.5) WITHIN GROUP (ORDER BY i) FROM ag;
SELECT percentile_cont(0.5) FROM ag;
SELECT max(x), min(x), any_value(x) FROM (VALUES ('a'::varchar(3)), ('a')) v(x);
SELECT max(x) OVER () FROM (VALUES ('a'::varchar)) v(x);
SELECT string_agg(DISTINCT x, ',' ORDER BY y) FROM (VALUES ('a', 1)) v(x, y);
SELECT string_agg(DISTINCT x, ',' ORDER BY x DESC) FROM (VALUES ('a'::varchar), ('b')) v(x);
SELECT x, count(*) FROM (VALUES (1), (2)) v(x) GROUP BY DISTINCT ROLLUP (x), ROLLUP (x);

-- Views of tables that change in several steps: aggregates, expressions of all kinds, joins of views
CREATE TABLE vi (id int, grp text, amount numeric(10,2), qty int, at timestamp, doc jsonb, tags text[]);
CREATE MATERIALIZED VIEW vi_totals AS SELECT grp, count(*) AS n, sum(amount) AS total, avg(qty) AS mean, min(amount) AS low, max(at) AS latest FROM vi GROUP BY grp;
CREATE MATERIALIZED VIEW vi_days AS SELECT date_trunc('day', at) AS day, sum(amount * qty) AS worth, count(DISTINCT grp) AS groups FROM vi GROUP BY 1;
CREATE MATERIALIZED VIEW vi_docs AS SELECT id, doc ->> 'name' AS name, (doc ->> 'age')::int AS age, doc -> 'tags' -> 0 AS first, doc @> '{"vip": true}' AS vip FROM vi;
CREATE MATERIALIZED VIEW vi_texts AS SELECT id, upper(grp) || '-' || lpad(id::text, 3, '0') AS code, coalesce(qty, -1) AS qty, CASE WHEN amount > 10 THEN 'big' WHEN amount > 0 THEN 'small' END AS size FROM vi;
CREATE MATERIALIZED VIEW vi_tags AS SELECT tag, count(*) AS n FROM vi, unnest(tags) AS tag GROUP BY tag;
CREATE MATERIALIZED VIEW vi_above AS SELECT id, amount FROM vi v WHERE amount > (SELECT avg(amount) FROM vi w WHERE w.grp = v.grp);
CREATE MATERIALIZED VIEW vi_shares AS SELECT v.id, round(v.amount / t.total, 4) AS share FROM vi v JOIN vi_totals t ON v.grp = t.grp WHERE t.total <> 0;
CREATE MATERIALIZED VIEW vi_lists AS SELECT grp, string_agg(id::text, ',' ORDER BY id) AS ids, array_agg(qty ORDER BY id) AS qtys, jsonb_agg(doc -> 'name' ORDER BY id) AS names FROM vi GROUP BY grp;
CREATE MATERIALIZED VIEW vi_spread AS SELECT grp, round(stddev(qty), 8) AS dev, bool_and(qty > 0) AS all_positive FROM vi GROUP BY grp;
CREATE MATERIALIZED VIEW vi_one AS SELECT count(*) AS n, sum(qty) AS q, max(amount) AS m FROM vi;
CREATE MATERIALIZED VIEW vi_ago AS SELECT id, age('2024-06-01'::timestamp, at) AS age, to_char(at, 'YYYY-MM-DD HH24:MI') AS shown, extract(dow FROM at) AS dow FROM vi;
INSERT INTO vi VALUES
  (1, 'a', 10.50, 2, '2024-01-01 10:00', '{"name": "ann", "age": "30", "tags": ["x", "y"], "vip": true}', '{red,blue}'),
  (2, 'a', 0.01, 1, '2024-01-01 23:59:59.5', '{"name": "bob", "age": 41, "tags": []}', '{red}'),
  (3, 'b', 99.99, NULL, '2024-01-02', '{"name": null}', NULL),
  (4, NULL, -5, 3, NULL, NULL, '{}');
INSERT INTO vi VALUES (5, 'b', 20, 7, '2024-02-29 12:00', '{"name": "dan", "age": "7", "vip": false}', '{blue,blue,NULL}');
UPDATE vi SET amount = amount * 2, qty = qty + 1 WHERE grp = 'a';
UPDATE vi SET grp = 'c' WHERE id = 3;
DELETE FROM vi WHERE id = 1;
INSERT INTO vi VALUES (1, 'a', 10.50, 2, '2024-01-01 10:00', '{"name": "ann"}', '{red,blue}');
DELETE FROM vi WHERE grp IS NULL OR grp = 'b';
DELETE FROM vi;
INSERT INTO vi (id, grp) VALUES (9, 'z');

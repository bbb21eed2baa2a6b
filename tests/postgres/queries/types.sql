-- Every type that PostgreSQL has too, through a table, expressions and views and back
CREATE TABLE ty (a boolean, b smallint, c integer, d bigint, e real, f double precision, g numeric(12,3), h text, i varchar(5), j char(4),
  k bytea, l date, m time, n timestamp, o timestamptz, p interval, q jsonb, r uuid, s integer[], t text[], u timestamp(3), v numeric, w oid);
INSERT INTO ty VALUES
  (true, -32768, 2147483647, -9223372036854775808, 1.5, 0.1, 123456789.125, 'it''s "ä" \ 😀', 'abcde', 'ab',
   '\x00ff5c', '2024-02-29', '23:59:59.999999', '2024-07-03 18:43:05.312456', '2024-07-03 18:43:05+02', '1 year 2 mons -3 days 04:05:06.7',
   '{"b": [1, 2.5, null], "a": {"x": "y"}}', 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11', '{1,NULL,3}', '{a,"b c",NULL,""}', '2024-07-03 18:43:05.3126', 0.000000000000000001, 4294967295),
  (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  (false, 0, 0, 0, 'NaN', '-Infinity', 0, '', '', '', '', '0001-01-01', '00:00', '1970-01-01', '1969-12-31 23:59:59.999999+00', '0', 'null', '00000000-0000-0000-0000-000000000000', '{}', '{}', '1970-01-01', -1.10, 0);
SELECT * FROM ty;
SELECT a, b, c, d, e, f, g, h, i, j FROM ty WHERE c = 2147483647;
SELECT a::text, b::text, c::text, d::text, e::text, f::text, h::text, i::text, j::text FROM ty;
SELECT k::text, l::text, m::text, n::text, o::text, p::text, r::text, s::text, t::text, u::text FROM ty;
SELECT count(*) FROM ty WHERE row(a, c, h) IS NOT NULL;
SELECT l, m, n, o, p FROM ty ORDER BY n;
SELECT a FROM ty ORDER BY a DESC;
SELECT f FROM ty ORDER BY f;
SELECT max(l), min(m), max(n), min(o), max(r::text), max(g), min(e) FROM ty;
SELECT DISTINCT s FROM ty;
SELECT s, count(*) FROM ty GROUP BY s;
SELECT q, count(*) FROM ty GROUP BY q;
SELECT r = 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', k = '\x00ff5c', j = 'ab', i LIKE 'ab%' FROM ty;
SELECT l + 1, n + p, o - p, m + p, n - l::timestamp, l - '2024-01-01' FROM ty WHERE l > '2000-01-01';
CREATE MATERIALIZED VIEW ty_copy AS SELECT * FROM ty;
CREATE MATERIALIZED VIEW ty_grouped AS SELECT a, max(b) AS b, max(c) AS c, max(d) AS d, max(e) AS e, max(f) AS f, max(g) AS g, max(h) AS h, max(l) AS l, max(m) AS m, max(n) AS n, max(o) AS o FROM ty GROUP BY a;
CREATE MATERIALIZED VIEW ty_keys AS SELECT k, l, m, n, o, p, r, s, u, count(*) AS n2 FROM ty GROUP BY k, l, m, n, o, p, r, s, u;
INSERT INTO ty SELECT * FROM ty WHERE a;
UPDATE ty SET b = 1, h = 'new', g = 1.0005, i = 'xy   ', s = s || 9 WHERE a;
DELETE FROM ty WHERE a IS NULL;
INSERT INTO ty (i) VALUES ('toolong');
INSERT INTO ty (b) VALUES (40000);
INSERT INTO ty (b, c, b) VALUES (1, 2, 3);
UPDATE ty SET b = 1, b = 2;
CREATE TABLE ty_d (k int, v text DEFAULT 'none', n int DEFAULT 1 + 1, o int);
INSERT INTO ty_d VALUES (1, 'x', 9, 9), (2, 'y', 9, 9), (2, 'y', 9, 9), (3, 'z', 9, 9), (NULL, 'z', 9, 9);
UPDATE ty_d SET v = DEFAULT, n = DEFAULT, o = default WHERE k = 1;
DELETE FROM ty_d USING (VALUES (2), (2), (7)) gone(id) WHERE k = gone.id AND v = 'y';
SELECT * FROM ty_d;
DELETE FROM ty_d USING ty_d AS z WHERE k = 3;
DELETE FROM ty_d USING ty_d AS z WHERE ty_d.k = z.k + 2;
SELECT * FROM ty_d;
INSERT INTO ty (l) VALUES ('2024-13-01');
INSERT INTO ty (a) VALUES (1);
INSERT INTO ty (c) VALUES (1.5);
INSERT INTO ty (c) VALUES ('1.5');
INSERT INTO ty (c) VALUES ('7'::text);
INSERT INTO ty (h) VALUES (5);
INSERT INTO ty (g) VALUES (1.00049999);
SELECT c, g, h FROM ty;

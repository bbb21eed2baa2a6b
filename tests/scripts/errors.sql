-- errors: errors carry the SQLSTATE that drivers look at
CREATE TABLE t (k int NOT NULL, v int);
error   SELECT * FROM nowhere; 42P01
error   SELECT nothing FROM t; 42703
error   SELECT k FROM t x, t y; 42702
error   SELECT k, sum(v) FROM t; 42803
error   SELECT nothing(k) FROM t; 42883
error   SELECT 1 +; 42601
error   SELECT 1 / 0; 22012
error   SELECT 'x'::int; 22P02
error   SELECT 2147483647 + 1; 22003
error   INSERT INTO t VALUES (NULL, 1); 23502
error   INSERT INTO t VALUES (1, 2, 3); 42601
error   CREATE TABLE t (v int); 42710
error   CREATE TABLE x (v int, v int); 42701
error   CREATE MATERIALIZED VIEW m AS SELECT now() AS n; 42P17
error   DROP TABLE nowhere; 42P01
error   UPDATE t SET nothing = 1; 42703
answer  SELECT count(*) FROM t; (0)

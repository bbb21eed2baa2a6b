-- drop_cascade: what others need is dropped only with them, and its name is free again
CREATE TABLE t (v int);
CREATE MATERIALIZED VIEW m AS SELECT sum(v) AS s FROM t;
CREATE VIEW w AS SELECT s FROM m;
error   DROP TABLE t; 2BP01
error   DROP MATERIALIZED VIEW m; 2BP01
error   CREATE TABLE m (v int); 42710
DROP TABLE t CASCADE;
error   SELECT * FROM w; 42P01
CREATE TABLE t (v int);
CREATE MATERIALIZED VIEW m AS SELECT max(v) AS s FROM t;
tick    t +(4)
expect  m -(NULL) +(4)
DROP MATERIALIZED VIEW IF EXISTS nobody;

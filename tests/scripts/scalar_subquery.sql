-- scalar_subquery: a scalar subquery is NULL of no rows, and when it changes every row does
CREATE TABLE t (v int);
CREATE TABLE u (w int);
CREATE MATERIALIZED VIEW compared AS SELECT v, (SELECT max(w) FROM u) AS most FROM t;
tick    t +(1) +(2)
expect  compared +(1,NULL) +(2,NULL)
tick    u +(7)
expect  compared -(1,NULL) -(2,NULL) +(1,7) +(2,7)
tick    u +(5); t -(2)
expect  compared -(2,7)

-- any_and_all: a comparison with a set is true, false, or unknown because of a NULL
CREATE TABLE t (k int, v int);
CREATE TABLE u (k int, w int);
CREATE MATERIALIZED VIEW most AS SELECT k FROM t WHERE v >= ALL (SELECT w FROM u WHERE u.k = t.k);
CREATE MATERIALIZED VIEW shown AS SELECT k, v < ANY (SELECT w FROM u) AS less FROM t;
tick    t +(1,1) +(2,5) +(3,NULL)
expect  most +(1) +(2) +(3)
expect  shown +(1,false) +(2,false) +(3,false)
tick    u +(1,3) +(2,3) +(2,NULL)
expect  most -(1) -(2)
expect  shown -(1,false) -(2,false) -(3,false) +(1,true) +(2,NULL) +(3,NULL)
answer  SELECT 1 <> ALL (SELECT 2), 1 <> ANY (SELECT 1), 1 <> ALL (SELECT NULL::int), 1 <= ANY (SELECT NULL::int), 1 = ALL (SELECT 1); (t,f,NULL,NULL,t)

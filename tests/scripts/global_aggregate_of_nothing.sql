-- global_aggregate_of_nothing: an aggregate without GROUP BY has one row, of an empty table too
CREATE TABLE t (v int);
CREATE MATERIALIZED VIEW total AS SELECT count(*) AS n, sum(v) AS s, min(v) AS least FROM t;
expect  total +(0,NULL,NULL)
tick    t +(3)
expect  total -(0,NULL,NULL) +(1,3,3)
tick    t -(3)
expect  total -(1,3,3) +(0,NULL,NULL)

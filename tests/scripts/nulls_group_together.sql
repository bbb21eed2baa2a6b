-- nulls_group_together: NULL is one group, and equal to nothing in a join
CREATE TABLE t (k int, v int);
CREATE MATERIALIZED VIEW sums AS SELECT k, sum(v) AS v FROM t GROUP BY k;
CREATE MATERIALIZED VIEW twins AS SELECT x.v AS one, y.v AS other FROM t x JOIN t y ON x.k = y.k;
tick    t +(NULL,1) +(NULL,2) +(1,NULL)
expect  sums +(NULL,3) +(1,NULL)
expect  twins +(NULL,NULL)

-- late_view: a view made on old data begins with the content, not with the history
CREATE TABLE t (k int, v int);
tick    t +(1,10) +(2,20)
tick    t -(2,20) +(1,5)
CREATE MATERIALIZED VIEW sums AS SELECT k, sum(v) AS v FROM t GROUP BY k;
expect  sums +(1,15)
CREATE MATERIALIZED VIEW inverses AS SELECT k, sum(100 / (v - 20)) AS x FROM t GROUP BY k;
expect  inverses +(1,-16)
tick    t -(1,5)
expect  sums -(1,15) +(1,10)

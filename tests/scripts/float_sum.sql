-- float_sum: a float sum is a function of its rows: after any detour it comes back to the same digits
CREATE TABLE t (k int, v double precision);
CREATE MATERIALIZED VIEW sums AS SELECT k, sum(v) AS v FROM t GROUP BY k;
tick    t +(1,0.1) +(1,0.2) +(1,0.3)
expect  sums +(1,0.6000000000000001)
tick    t +(1,1e17)
expect  sums -(1,0.6000000000000001) +(1,1e17)
tick    t -(1,1e17)
expect  sums -(1,1e17) +(1,0.6000000000000001)

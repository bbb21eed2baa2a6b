-- rows_that_never_met: a condition is asked only of pairs that were there together, however they come and go
CREATE TABLE a (k int, x int);
CREATE TABLE b (k int, y int);
CREATE MATERIALIZED VIEW ratios AS SELECT a.k, x / y AS ratio FROM a JOIN b ON a.k = b.k;
CREATE MATERIALIZED VIEW larger AS SELECT a.k FROM a JOIN b ON a.k = b.k AND x / y > 1;
CREATE MATERIALIZED VIEW summed AS SELECT k, sum(ratio) AS ratio FROM ratios GROUP BY k;
tick    a +(1,6); b +(1,2)
expect  summed +(1,3)
expect  larger +(1)
tick    a -(1,6); b +(1,0)
expect  summed -(1,3)
expect  larger -(1)
tick    a +(1,8); b -(1,0)
expect  summed +(1,4)

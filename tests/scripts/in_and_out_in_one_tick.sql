-- in_and_out_in_one_tick: a row that comes and goes in one tick changes nothing, not even by an error it would have caused
CREATE TABLE t (k int, v int);
CREATE MATERIALIZED VIEW shares AS SELECT k, sum(100 / v) AS share FROM t GROUP BY k;
tick    t +(1,4)
expect  shares +(1,25)
tick    t +(1,0) -(1,0) +(2,1) -(2,1)
expect  shares

-- stalled_view_heals: a view that cannot compute stands still and says why, others go on; when the bad row is gone, it heals by itself
CREATE TABLE t (k int, v int);
CREATE MATERIALIZED VIEW shares AS SELECT k, sum(100 / v) AS share FROM t GROUP BY k;
CREATE MATERIALIZED VIEW on_shares AS SELECT count(*) AS n FROM shares;
CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS n FROM t;
tick    t +(1,4)
expect  shares +(1,25)
tick    t +(1,0) +(2,10)
stalled shares division by zero
stalled on_shares division by zero
expect  counted -(1) +(3)
error   SELECT * FROM shares; 22012
error   SELECT * FROM on_shares; 22012
tick    t -(1,0)
expect  counted -(3) +(2)
answer  SELECT k, share FROM shares ORDER BY k; (1,25) (2,10)
answer  SELECT n FROM on_shares; (2)

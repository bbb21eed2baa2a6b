-- stalled_above_its_state: an error in what a view computes when it is read stops the view itself, whether or not somebody reads it; others go on, and it heals
CREATE TABLE t (k int, v int);
CREATE MATERIALIZED VIEW shares AS SELECT k, 100 / sum(v) AS share FROM t GROUP BY k;
CREATE MATERIALIZED VIEW divided AS SELECT k, 100 / v AS part FROM t;
CREATE MATERIALIZED VIEW paired AS SELECT a.k, b.k AS other FROM t a JOIN t b ON a.k = b.k AND 100 / (a.v - b.v + 7) > 0;
CREATE MATERIALIZED VIEW keyed AS SELECT jsonb_object_agg(CASE WHEN v > 0 THEN 'k' || k END, v) AS doc FROM t;
CREATE MATERIALIZED VIEW renamed AS SELECT part AS piece FROM divided;
CREATE MATERIALIZED VIEW total AS SELECT sum(piece) AS total FROM renamed;
CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS n FROM divided;
CREATE MATERIALIZED VIEW apart AS SELECT count(*) AS n FROM t;
tick    t +(1,4)
expect  shares +(1,25)
expect  total -(NULL) +(25)
-- one view after another, each by a row of its own
tick    t +(2,3) +(2,-3)
stalled shares division by zero
stalled keyed field name must not be null
expect  divided +(2,33) +(2,-33)
expect  total
error   SELECT * FROM shares; 22012
error   SELECT k FROM shares WHERE k = 1; 22012
tick    t +(3,0)
stalled shares division by zero
stalled divided division by zero
stalled renamed division by zero
stalled total division by zero
expect  apart -(3) +(4)
error   SELECT * FROM divided; 22012
error   SELECT * FROM total; 22012
tick    t -(3,0) +(3,10)
stalled shares division by zero
expect  apart
answer  SELECT total FROM total; (35)
answer  SELECT n FROM counted; (4)
tick    t -(2,-3)
answer  SELECT k, share FROM shares ORDER BY k; (1,25) (2,33) (3,10)
answer  SELECT doc FROM keyed; ({"k1":4,"k2":3,"k3":10})
tick    t +(1,11)
stalled paired division by zero
expect  shares -(1,25) +(1,6)
tick    t -(1,11)
answer  SELECT count(*) FROM paired; (3)

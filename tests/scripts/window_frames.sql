-- window_frames: a frame moves with its row, and a change touches the partition it is in
CREATE TABLE m (k int, at timestamp, v int);
CREATE MATERIALIZED VIEW last_hour AS SELECT v, sum(v) OVER (PARTITION BY k ORDER BY at RANGE BETWEEN INTERVAL '1 hour' PRECEDING AND CURRENT ROW) AS s FROM m;
CREATE MATERIALIZED VIEW near AS SELECT v, count(*) OVER (PARTITION BY k ORDER BY v RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS n FROM m;
CREATE MATERIALIZED VIEW around AS SELECT v, min(v) OVER (PARTITION BY k ORDER BY at ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS lo FROM m;
CREATE MATERIALIZED VIEW large AS SELECT v, count(*) FILTER (WHERE v > 1) OVER (PARTITION BY k) AS n, nth_value(v, 2) OVER w AS second FROM m WINDOW w AS (PARTITION BY k ORDER BY at ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING);
tick    m +(1,'2024-01-01 00:00',1) +(1,'2024-01-01 00:30',2) +(1,'2024-01-01 01:30',4) +(2,'2024-01-01 00:00',9)
expect  last_hour +(1,1) +(2,3) +(4,6) +(9,9)
expect  near +(1,2) +(2,2) +(4,1) +(9,1)
expect  around +(1,1) +(2,1) +(4,2) +(9,9)
expect  large +(1,2,2) +(2,2,2) +(4,2,2) +(9,1,NULL)
tick    m -(1,'2024-01-01 00:30',2)
expect  last_hour -(2,3) -(4,6) +(4,4)
expect  near -(1,2) +(1,1) -(2,2)
expect  around -(2,1) -(4,2) +(4,1)
expect  large -(1,2,2) -(2,2,2) -(4,2,2) +(1,1,4) +(4,1,4)

-- window_rank: a rank moves every row behind it, and only those of its partition
CREATE TABLE runs (race int, name text, seconds int);
CREATE MATERIALIZED VIEW places AS
    SELECT race, name, rank() OVER (PARTITION BY race ORDER BY seconds) AS place FROM runs;
tick    runs +(1,'ann',50) +(1,'bob',60) +(2,'cid',70)
expect  places +(1,'ann',1) +(1,'bob',2) +(2,'cid',1)
tick    runs +(1,'dan',40)
expect  places +(1,'dan',1) -(1,'ann',1) +(1,'ann',2) -(1,'bob',2) +(1,'bob',3)
tick    runs +(1,'eve',50)
expect  places +(1,'eve',2) -(1,'bob',3) +(1,'bob',4)

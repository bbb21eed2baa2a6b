-- union: UNION ALL adds up, UNION has each row once
CREATE TABLE a (x int);
CREATE TABLE b (x int);
CREATE MATERIALIZED VIEW every AS SELECT x FROM a UNION ALL SELECT x FROM b;
CREATE MATERIALIZED VIEW once AS SELECT x FROM a UNION SELECT x FROM b;
tick    a +(1); b +(1)
expect  every +(1) +(1)
expect  once +(1)
tick    a -(1)
expect  every -(1)
expect  once
tick    b -(1)
expect  once -(1)

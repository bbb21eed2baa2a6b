-- except_and_intersect: EXCEPT and INTERSECT compare rows, their ALL forms compare how often they come
CREATE TABLE a (x int);
CREATE TABLE b (x int);
CREATE MATERIALIZED VIEW only_a AS SELECT x FROM a EXCEPT SELECT x FROM b;
CREATE MATERIALIZED VIEW more_a AS SELECT x FROM a EXCEPT ALL SELECT x FROM b;
CREATE MATERIALIZED VIEW shared AS SELECT x FROM a INTERSECT SELECT x FROM b;
CREATE MATERIALIZED VIEW shared_all AS SELECT x FROM a INTERSECT ALL SELECT x FROM b;
tick    a +(1) +(1) +(1) +(NULL); b +(1) +(1) +(NULL)
expect  only_a
expect  more_a +(1)
expect  shared +(1) +(NULL)
expect  shared_all +(1) +(1) +(NULL)
tick    b -(1) -(1)
expect  only_a +(1)
expect  more_a +(1) +(1)
expect  shared -(1)
expect  shared_all -(1) -(1)

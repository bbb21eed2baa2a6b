-- duplicates: a relation is a bag: equal rows count each
CREATE TABLE t (k int);
CREATE TABLE u (k int);
CREATE MATERIALIZED VIEW copies AS SELECT k FROM t;
CREATE MATERIALIZED VIEW pairs AS SELECT t.k FROM t JOIN u ON t.k = u.k;
CREATE MATERIALIZED VIEW once AS SELECT DISTINCT k FROM t;
tick    t +(1) +(1); u +(1) +(1)
expect  copies +(1) +(1)
expect  pairs +(1) +(1) +(1) +(1)
expect  once +(1)
tick    t -(1)
expect  copies -(1)
expect  pairs -(1) -(1)
expect  once
tick    t -(1)
expect  once -(1)

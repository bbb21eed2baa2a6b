-- shared_with: a WITH query that is used twice, and constant rows to join with
CREATE TABLE t (k int, v int);
CREATE MATERIALIZED VIEW compared AS WITH sums AS (SELECT k, sum(v) AS s FROM t GROUP BY k) SELECT a.k, b.k AS other FROM sums AS a JOIN sums AS b ON a.s = b.s AND a.k < b.k;
CREATE MATERIALIZED VIEW named AS WITH names (k, name) AS (VALUES (1, 'one'), (2, 'two')) SELECT name, v FROM names LEFT JOIN t USING (k);
CREATE MATERIALIZED VIEW crossed AS SELECT x, v FROM t CROSS JOIN (VALUES ('a'), ('b')) AS c(x);
tick    t +(1,5) +(2,3) +(2,2)
expect  compared +(1,2)
expect  named -('one',NULL) -('two',NULL) +('one',5) +('two',3) +('two',2)
expect  crossed +('a',5) +('b',5) +('a',3) +('b',3) +('a',2) +('b',2)
tick    t -(2,2) +(3,3)
expect  compared -(1,2) +(2,3)
expect  named -('two',2)
expect  crossed -('a',2) -('b',2) +('a',3) +('b',3)

-- subquery_in_outer_join: the condition of an outer join may ask another table
CREATE TABLE t (k int, v int);
CREATE TABLE u (k int, w int);
CREATE TABLE good (x int);
CREATE MATERIALIZED VIEW of_right AS SELECT t.k, u.w FROM t LEFT JOIN u ON t.k = u.k AND u.w IN (SELECT x FROM good);
CREATE MATERIALIZED VIEW of_left AS SELECT t.k, u.w FROM t LEFT JOIN u ON t.k = u.k AND EXISTS (SELECT 1 FROM good WHERE x = t.v);
CREATE MATERIALIZED VIEW of_none AS SELECT t.k, u.w FROM t FULL JOIN u ON t.k = u.k AND (SELECT count(*) FROM good) = 1;
tick    t +(1,5) +(2,6); u +(1,7) +(2,8)
expect  of_right +(1,NULL) +(2,NULL)
expect  of_left +(1,NULL) +(2,NULL)
expect  of_none +(1,NULL) +(2,NULL) +(NULL,7) +(NULL,8)
tick    good +(7)
expect  of_right -(1,NULL) +(1,7)
expect  of_left
expect  of_none -(1,NULL) -(2,NULL) -(NULL,7) -(NULL,8) +(1,7) +(2,8)
tick    good +(6)
expect  of_right
expect  of_left -(2,NULL) +(2,8)
expect  of_none +(1,NULL) +(2,NULL) +(NULL,7) +(NULL,8) -(1,7) -(2,8)

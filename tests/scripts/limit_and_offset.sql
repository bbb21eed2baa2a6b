-- limit_and_offset: a view holds the rows that LIMIT and OFFSET leave, of the order it names
CREATE TABLE t (k int, v int);
CREATE MATERIALIZED VIEW page AS SELECT k FROM t ORDER BY v DESC LIMIT 2 OFFSET 1;
CREATE MATERIALIZED VIEW all_but_first AS SELECT k FROM t ORDER BY v OFFSET 1;
CREATE MATERIALIZED VIEW fetched AS SELECT k FROM t ORDER BY v FETCH FIRST ROW ONLY;
CREATE MATERIALIZED VIEW ends AS (SELECT k FROM t ORDER BY v LIMIT 1) UNION ALL (SELECT k FROM t ORDER BY v DESC LIMIT 1);
tick    t +(1,10) +(2,20) +(3,30) +(4,40)
expect  page +(3) +(2)
expect  all_but_first +(2) +(3) +(4)
expect  fetched +(1)
expect  ends +(1) +(4)
tick    t -(4,40)
expect  page -(3) +(1)
expect  all_but_first -(4)
expect  ends -(4) +(3)
tick    t +(0,0)
expect  page
expect  fetched -(1) +(0)

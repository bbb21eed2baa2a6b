-- constant_rows: constant rows are there from the beginning and never change
CREATE TABLE t (v int);
CREATE MATERIALIZED VIEW rows_of AS SELECT v FROM t UNION ALL VALUES (1), (1);
CREATE MATERIALIZED VIEW constant AS SELECT 7 AS seven;
expect  constant +(7)
tick    t +(2)
expect  rows_of +(2)
expect  constant
answer  SELECT v FROM rows_of ORDER BY v; (1) (1) (2)

-- ordered_aggregates: string_agg and array_agg have one order, their own or a fixed one
CREATE TABLE t (k int, s text, n int);
CREATE MATERIALIZED VIEW texts AS
    SELECT k, string_agg(s, ',') AS fixed, string_agg(s, ',' ORDER BY n DESC) AS ordered, array_agg(n) AS ns
    FROM t GROUP BY k;
tick    t +(1,'b',2) +(1,'a',3)
expect  texts +(1,'a,b','a,b','{2,3}')
tick    t +(1,'c',1) +(1,NULL,NULL)
expect  texts -(1,'a,b','a,b','{2,3}') +(1,'a,b,c','a,b,c','{1,2,3,NULL}')

-- row_number_filter: the first rows of each group by a filter on row_number() or rank()
CREATE TABLE bids (item int, price int);
CREATE MATERIALIZED VIEW best AS SELECT item, price FROM (SELECT *, row_number() OVER (PARTITION BY item ORDER BY price DESC) AS n FROM bids) AS x WHERE n <= 2;
CREATE MATERIALIZED VIEW tied AS SELECT item, price FROM (SELECT *, rank() OVER (PARTITION BY item ORDER BY price DESC) AS n FROM bids) AS x WHERE n = 1;
tick    bids +(1,10) +(1,30) +(1,30) +(2,5)
expect  best +(1,30) +(1,30) +(2,5)
expect  tied +(1,30) +(1,30) +(2,5)
tick    bids -(1,30) +(2,6)
expect  best -(1,30) +(1,10) +(2,6)
expect  tied -(1,30) -(2,5) +(2,6)

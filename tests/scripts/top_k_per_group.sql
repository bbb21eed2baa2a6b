-- top_k_per_group: the first k of every group: row_number in a subquery, and LIMIT with OFFSET
CREATE TABLE scores (team int, points int);
CREATE MATERIALIZED VIEW best AS
    SELECT team, points FROM (
        SELECT team, points, row_number() OVER (PARTITION BY team ORDER BY points DESC) AS place FROM scores
    ) AS ranked WHERE place <= 2;
CREATE MATERIALIZED VIEW second AS SELECT points FROM scores ORDER BY points DESC LIMIT 1 OFFSET 1;
tick    scores +(1,10) +(1,20) +(1,30) +(2,5)
expect  best +(1,30) +(1,20) +(2,5)
expect  second +(20)
tick    scores -(1,30)
expect  best -(1,30) +(1,10)
expect  second -(20) +(10)

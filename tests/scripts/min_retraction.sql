-- min_retraction: when the minimum leaves, the next one takes its place
CREATE TABLE bids (item int, price int);
CREATE MATERIALIZED VIEW lowest AS SELECT item, min(price) AS price FROM bids GROUP BY item;
tick    bids +(1,30) +(1,20)
expect  lowest +(1,20)
tick    bids -(1,20)
expect  lowest -(1,20) +(1,30)
tick    bids +(1,40)
expect  lowest
tick    bids -(1,30) -(1,40)
expect  lowest -(1,30)

-- filter_clause: FILTER chooses the rows of one aggregate, not of its neighbours
CREATE TABLE sales (shop int, amount int, refund boolean);
CREATE MATERIALIZED VIEW totals AS
    SELECT shop, count(*) AS n, sum(amount) FILTER (WHERE refund) AS refunded FROM sales GROUP BY shop;
tick    sales +(1,10,false) +(1,4,true) +(1,5,NULL)
expect  totals +(1,3,4)
tick    sales -(1,4,true)
expect  totals -(1,3,4) +(1,2,NULL)

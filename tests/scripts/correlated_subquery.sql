-- correlated_subquery: a correlated subquery is asked for every row: counts are 0 of nothing, sums NULL
CREATE TABLE customers (id int);
CREATE TABLE orders (customer int, amount int);
CREATE MATERIALIZED VIEW spent AS
    SELECT id, (SELECT count(*) FROM orders WHERE customer = id) AS orders,
        (SELECT sum(amount) FROM orders WHERE customer = id) AS total
    FROM customers;
tick    customers +(1) +(2)
expect  spent +(1,0,NULL) +(2,0,NULL)
tick    orders +(1,30) +(1,12)
expect  spent -(1,0,NULL) +(1,2,42)
tick    orders -(1,30) -(1,12)
expect  spent -(1,2,42) +(1,0,NULL)

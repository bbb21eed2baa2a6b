-- lateral: a subquery sees the row beside it, and is kept up to date for each
CREATE TABLE shops (id int, wants int);
CREATE TABLE offers (shop int, price int);
CREATE MATERIALIZED VIEW cheapest AS SELECT id, x.price FROM shops LEFT JOIN LATERAL (SELECT price FROM offers WHERE shop = id ORDER BY price LIMIT 2) AS x ON true;
CREATE MATERIALIZED VIEW below AS SELECT id, x.price FROM shops, LATERAL (SELECT price FROM offers WHERE price < wants) AS x;
CREATE MATERIALIZED VIEW numbers AS SELECT id, n.m, o.n FROM shops CROSS JOIN LATERAL (SELECT max(price) AS m FROM offers WHERE shop = id) AS n, LATERAL (SELECT n.m + 1 AS n) AS o;
tick    shops +(1,10) +(2,5); offers +(1,30) +(1,20) +(1,7)
expect  cheapest +(1,7) +(1,20) +(2,NULL)
expect  below +(1,7)
expect  numbers +(1,30,31) +(2,NULL,NULL)
tick    offers -(1,7) +(2,4)
expect  cheapest -(1,7) +(1,30) -(2,NULL) +(2,4)
expect  below -(1,7) +(1,4) +(2,4)
expect  numbers -(2,NULL,NULL) +(2,4,5)

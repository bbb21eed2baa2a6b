-- join_in_one_tick: rows that arrive on both sides in one tick meet exactly once
CREATE TABLE orders (id int, item text);
CREATE TABLE items (item text, price int);
CREATE MATERIALIZED VIEW priced AS SELECT id, price FROM orders JOIN items ON orders.item = items.item;
tick    orders +(1,'tea'); items +('tea',3)
expect  priced +(1,3)
tick    orders +(2,'tea'); items -('tea',3) +('tea',4)
expect  priced -(1,3) +(1,4) +(2,4)
tick    orders -(1,'tea'); items +('tea',5)
expect  priced -(1,4) +(2,5)
tick    orders -(2,'tea'); items -('tea',4) -('tea',5)
expect  priced -(2,4) -(2,5)

-- update_and_delete: UPDATE moves a row within one tick, DELETE takes it, and both see only what their condition says
CREATE TABLE stock (item text, n int);
CREATE MATERIALIZED VIEW total AS SELECT sum(n) AS n FROM stock;
INSERT INTO stock VALUES ('tea', 3), ('cup', 4), ('cup', 4);
expect  total -(NULL) +(11)
UPDATE stock SET n = n + 1 WHERE item = 'cup';
expect  stock -('cup',4) -('cup',4) +('cup',5) +('cup',5)
expect  total -(11) +(13)
UPDATE stock SET n = n;
expect  stock
DELETE FROM stock WHERE item = 'tea' OR item IS NULL;
expect  total -(13) +(10)
DELETE FROM stock WHERE n > 100;
expect  total
INSERT INTO stock (n) SELECT n * 10 FROM stock;
answer  SELECT item, n FROM stock ORDER BY n, item; (cup,5) (cup,5) (NULL,50) (NULL,50)

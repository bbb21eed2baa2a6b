-- view_on_view: views on views change in the same tick, through plain views too
CREATE TABLE sales (region text, amount int);
CREATE MATERIALIZED VIEW totals AS SELECT region, sum(amount) AS total FROM sales GROUP BY region;
CREATE VIEW big AS SELECT region, total FROM totals WHERE total > 10;
CREATE MATERIALIZED VIEW big_regions AS SELECT count(*) AS n, max(total) AS most FROM big;
tick    sales +('north',5)
expect  totals +('north',5)
expect  big_regions
tick    sales +('north',6) +('south',20)
expect  totals -('north',5) +('north',11) +('south',20)
expect  big_regions -(0,NULL) +(2,20)
tick    sales -('south',20)
expect  big_regions -(2,20) +(1,11)

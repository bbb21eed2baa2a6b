-- grouping_sets: GROUPING SETS, ROLLUP and CUBE are one view, and grouping() tells their rows apart
CREATE TABLE sales (region text, item text, amount int);
CREATE MATERIALIZED VIEW totals AS SELECT region, item, sum(amount) AS total, grouping(region, item) AS g FROM sales GROUP BY ROLLUP (region, item);
CREATE MATERIALIZED VIEW cubed AS SELECT region, item, count(*) AS n FROM sales GROUP BY CUBE (region, item) HAVING grouping(region) = 1;
CREATE MATERIALIZED VIEW chosen AS SELECT region, item, max(amount) AS most FROM sales GROUP BY GROUPING SETS ((item), (region));
CREATE MATERIALIZED VIEW plain AS SELECT region, grouping(region) AS g FROM sales GROUP BY region;
tick    sales +('eu','tea',1) +('eu',NULL,2)
expect  totals +('eu','tea',1,0) +('eu',NULL,2,0) +('eu',NULL,3,1) -(NULL,NULL,NULL,3) +(NULL,NULL,3,3)
expect  cubed +(NULL,'tea',1) +(NULL,NULL,1) -(NULL,NULL,0) +(NULL,NULL,2)
expect  chosen +(NULL,'tea',1) +(NULL,NULL,2) +('eu',NULL,2)
expect  plain +('eu',0)
tick    sales -('eu',NULL,2) +('us','tea',5)
expect  totals -('eu',NULL,2,0) -('eu',NULL,3,1) +('eu',NULL,1,1) -(NULL,NULL,3,3) +(NULL,NULL,6,3) +('us','tea',5,0) +('us',NULL,5,1)
expect  cubed -(NULL,'tea',1) -(NULL,NULL,1) +(NULL,'tea',2)
expect  chosen -(NULL,'tea',1) -(NULL,NULL,2) -('eu',NULL,2) +(NULL,'tea',5) +('eu',NULL,1) +('us',NULL,5)
error   SELECT grouping(amount) FROM sales GROUP BY region; 42803

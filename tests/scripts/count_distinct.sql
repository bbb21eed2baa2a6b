-- count_distinct: a value counts once, until its last occurrence leaves; NULL never counts
CREATE TABLE views (page int, person text);
CREATE MATERIALIZED VIEW pages AS
    SELECT page, count(*) AS views, count(DISTINCT person) AS people FROM views GROUP BY page;
tick    views +(1,'ann') +(1,'ann') +(1,'bob') +(1,NULL)
expect  pages +(1,4,2)
tick    views -(1,'ann')
expect  pages -(1,4,2) +(1,3,2)
tick    views -(1,'ann') +(2,NULL)
expect  pages -(1,3,2) +(1,2,1) +(2,1,0)
tick    views -(1,'bob') -(1,NULL)
expect  pages -(1,2,1)

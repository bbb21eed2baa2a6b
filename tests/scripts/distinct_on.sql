-- distinct_on: DISTINCT ON keeps the first row of each group in the given order
CREATE TABLE readings (sensor int, at int, value int);
CREATE MATERIALIZED VIEW latest AS
    SELECT DISTINCT ON (sensor) sensor, value FROM readings ORDER BY sensor, at DESC;
tick    readings +(1,1,10) +(1,2,20) +(2,1,7)
expect  latest +(1,20) +(2,7)
tick    readings +(1,3,30)
expect  latest -(1,20) +(1,30)
tick    readings -(1,3,30) -(2,1,7)
expect  latest -(1,30) +(1,20) -(2,7)

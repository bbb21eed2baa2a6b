-- numeric_sum: sums and averages of exact numbers are exact
CREATE TABLE t (n numeric, b bigint);
CREATE MATERIALIZED VIEW sums AS SELECT sum(n) AS n, avg(n) AS average, sum(b) AS b FROM t;
tick    t +(0.1,9223372036854775807) +(0.2,9223372036854775807) +(-0.3,1)
expect  sums -(NULL,NULL,NULL) +(0,0,18446744073709551615)
tick    t -(-0.3,1)
expect  sums -(0,0,18446744073709551615) +(0.3,0.15,18446744073709551614)

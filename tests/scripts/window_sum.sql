-- window_sum: a running sum, and a value beside the one before it
CREATE TABLE moves (account int, at int, amount int);
CREATE MATERIALIZED VIEW balances AS
    SELECT account, at, sum(amount) OVER (PARTITION BY account ORDER BY at) AS balance,
        lag(amount) OVER (PARTITION BY account ORDER BY at) AS before
    FROM moves;
tick    moves +(1,1,100) +(1,3,-30)
expect  balances +(1,1,100,NULL) +(1,3,70,100)
tick    moves +(1,2,5)
expect  balances +(1,2,105,100) -(1,3,70,100) +(1,3,75,5)

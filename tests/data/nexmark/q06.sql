SELECT q.seller, avg(q.final) OVER (
    PARTITION BY q.seller ORDER BY q.date_time ROWS BETWEEN 10 PRECEDING AND CURRENT ROW
) AS average
FROM (
    SELECT max(b.price) AS final, a.seller, max(b.date_time) AS date_time
    FROM auction AS a, bid AS b
    WHERE a.id = b.auction AND b.date_time BETWEEN a.date_time AND a.expires
    GROUP BY a.id, a.seller
) AS q;

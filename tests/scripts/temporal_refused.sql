-- temporal_refused: mz_now() in what is kept up to date bounds the life of a row, and nothing else
CREATE TABLE events (id int, at timestamp);
error   CREATE MATERIALIZED VIEW m AS SELECT mz_now() AS now FROM events; 0A000
error   CREATE MATERIALIZED VIEW m AS SELECT id FROM events WHERE mz_now() < at OR id = 1; 0A000
error   CREATE MATERIALIZED VIEW m AS SELECT id FROM events WHERE mz_now()::timestamp - at < INTERVAL '1 day'; 0A000
error   CREATE MATERIALIZED VIEW m AS SELECT count(*) FILTER (WHERE mz_now() < at) FROM events; 0A000
error   CREATE MATERIALIZED VIEW m AS SELECT e.id FROM events e LEFT JOIN events f ON mz_now() < e.at; 0A000
error   SUBSCRIBE (SELECT mz_now()); 0A000
error   INSERT INTO events SELECT 1, mz_now()::timestamp; 0A000
error   DELETE FROM events WHERE mz_now() > at; 0A000
error   SELECT mz_now(1); 42883

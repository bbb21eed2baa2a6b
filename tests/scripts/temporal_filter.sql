-- temporal_filter: rows enter and leave a view as time passes, with no input at all
time    2100-01-01 00:00:01
CREATE TABLE events (id int, at timestamp);
CREATE MATERIALIZED VIEW recent AS SELECT id FROM events WHERE mz_now() >= at AND mz_now() < at + INTERVAL '2 seconds';
CREATE MATERIALIZED VIEW how_many AS SELECT count(*) AS n FROM events WHERE mz_now() BETWEEN at AND at + INTERVAL '2.2 seconds';
tick    events +(1,'2100-01-01 00:00:00.5') +(2,'2100-01-01 00:00:05') +(3,'1969-12-31') +(4,NULL)
expect  recent +(1)
time    2100-01-01 00:00:02
expect  recent
time    2100-01-01 00:00:02.4
expect  recent
time    2100-01-01 00:00:02.5
expect  recent -(1)
expect  how_many
time    2100-01-01 00:00:02.701
expect  recent
expect  how_many -(1) +(0)
time    2100-01-01 00:00:06
expect  recent +(2)
tick    events -(2,'2100-01-01 00:00:05') +(5,'2100-01-01 00:00:05.0019')
expect  recent -(2) +(5)
time    2100-01-01 00:00:07.5
expect  recent -(5)
answer  SELECT count(*) FROM events WHERE mz_now() > at + INTERVAL '2 seconds'; (3)
answer  SELECT date_trunc('second', mz_now()::timestamp); (2100-01-01 00:00:07)

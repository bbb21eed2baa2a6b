CREATE CONNECTION broker TO KAFKA (BROKER '{bootstrap}', SECURITY PROTOCOL PLAINTEXT);

CREATE SOURCE pageviews_topic FROM KAFKA CONNECTION broker (TOPIC 'pageviews') FORMAT JSON;

CREATE VIEW pageviews AS
SELECT
  (data->>'user_id')::bigint AS user_id,
  (data->>'page_id')::bigint AS page_id,
  (data->>'viewtime')::timestamp AS viewtime,
  data->>'user_region' AS user_region
FROM pageviews_topic;

CREATE MATERIALIZED VIEW pageviews_per_region AS
SELECT user_region AS region, count(*) AS pv, count(DISTINCT user_id) AS uv
FROM pageviews
GROUP BY user_region;

CREATE SINK pageviews_per_region_sink
FROM pageviews_per_region
INTO KAFKA CONNECTION broker (TOPIC 'pageviews_per_region', TOPIC PARTITION COUNT 2)
KEY (region)
FORMAT JSON
ENVELOPE UPSERT;

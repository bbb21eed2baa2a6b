-- set_functions: a function that returns a set multiplies the row it stands beside, and its rows leave with it
CREATE TABLE docs (id int, tags text[], data jsonb, line text);
CREATE MATERIALIZED VIEW tag AS SELECT id, t, n FROM docs, unnest(tags) WITH ORDINALITY AS x(t, n);
CREATE MATERIALIZED VIEW tag_or_none AS SELECT id, t FROM docs LEFT JOIN LATERAL unnest(tags) AS t ON true;
CREATE MATERIALIZED VIEW upto AS SELECT id, g FROM docs, generate_series(1, id) AS g;
CREATE MATERIALIZED VIEW elements AS SELECT id, value FROM docs, jsonb_array_elements(data->'list');
CREATE MATERIALIZED VIEW entries AS SELECT id, key, value FROM docs, jsonb_each_text(data->'map');
CREATE MATERIALIZED VIEW words AS SELECT id, w FROM docs, regexp_split_to_table(line, '\s+') AS w;
CREATE MATERIALIZED VIEW pairs AS SELECT id, m[1] AS name, m[2] AS value FROM docs, regexp_matches(line, '(\w+)=(\d+)', 'g') AS m;
CREATE MATERIALIZED VIEW first_digit AS SELECT id, (regexp_matches(line, '\d'))[1] AS d FROM docs;
CREATE MATERIALIZED VIEW together AS SELECT id, unnest(tags) AS t, generate_series(1, id) AS g FROM docs;
CREATE MATERIALIZED VIEW zipped AS SELECT id, a, b FROM docs, unnest(tags, ARRAY[7]) AS z(a, b);
tick    docs +(2,'{a,b,b}','{"list": [1, {"x": null}], "map": {"p": "q", "r": 2}}','x=1 y=22') +(1,NULL,NULL,NULL)
expect  tag +(2,'a',1) +(2,'b',2) +(2,'b',3)
expect  tag_or_none +(2,'a') +(2,'b') +(2,'b') +(1,NULL)
expect  upto +(2,1) +(2,2) +(1,1)
expect  elements +(2,'1') +(2,'{"x":null}')
expect  entries +(2,'p','q') +(2,'r','2')
expect  words +(2,'x=1') +(2,'y=22')
expect  pairs +(2,'x','1') +(2,'y','22')
expect  first_digit +(2,'1')
expect  together +(2,'a',1) +(2,'b',2) +(2,'b',NULL) +(1,NULL,1)
expect  zipped +(2,'a',7) +(2,'b',NULL) +(2,'b',NULL) +(1,NULL,7)
tick    docs -(2,'{a,b,b}','{"list": [1, {"x": null}], "map": {"p": "q", "r": 2}}','x=1 y=22') +(2,'{b}',NULL,'z=3')
expect  tag -(2,'a',1) -(2,'b',2) -(2,'b',3) +(2,'b',1)
expect  tag_or_none -(2,'a') -(2,'b')
expect  pairs -(2,'x','1') -(2,'y','22') +(2,'z','3')
expect  first_digit -(2,'1') +(2,'3')
answer  SELECT x.a, x.n FROM unnest(ARRAY['p','q']) WITH ORDINALITY AS x(a, n); (p,1) (q,2)

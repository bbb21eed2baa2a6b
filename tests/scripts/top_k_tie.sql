-- top_k_tie: of rows that sort equal, LIMIT takes the same ones every time: all columns decide
CREATE TABLE scores (name text, points int);
CREATE MATERIALIZED VIEW best AS SELECT name, points FROM scores ORDER BY points DESC LIMIT 2;
tick    scores +('c',5) +('b',5) +('a',5)
expect  best +('a',5) +('b',5)
tick    scores +('d',9)
expect  best -('b',5) +('d',9)
tick    scores -('a',5) -('d',9)
expect  best -('a',5) -('d',9) +('b',5) +('c',5)

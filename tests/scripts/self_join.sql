-- self_join: a table joined with itself sees its own new rows on both sides
CREATE TABLE edges (a int, b int);
CREATE MATERIALIZED VIEW hops AS SELECT x.a, y.b FROM edges x JOIN edges y ON x.b = y.a;
tick    edges +(1,1)
expect  hops +(1,1)
tick    edges +(1,2) +(2,3)
expect  hops +(1,2) +(1,3)
tick    edges -(1,1)
expect  hops -(1,1) -(1,2)

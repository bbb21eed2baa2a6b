-- full_join: in a full join each side waits for the other
CREATE TABLE l (k int, v text);
CREATE TABLE r (k int, v text);
CREATE MATERIALIZED VIEW pairs AS SELECT l.v AS one, r.v AS other FROM l FULL JOIN r ON l.k = r.k;
tick    l +(1,'a')
expect  pairs +('a',NULL)
tick    r +(1,'b') +(2,'c')
expect  pairs -('a',NULL) +('a','b') +(NULL,'c')
tick    l -(1,'a') +(2,'d')
expect  pairs -('a','b') +(NULL,'b') -(NULL,'c') +('d','c')
tick    l +(NULL,'n'); r +(NULL,'m')
expect  pairs +('n',NULL) +(NULL,'m')

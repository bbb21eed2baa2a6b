-- joins_using: USING and NATURAL show the common column once, whichever side it comes from
CREATE TABLE a (k int, v text);
CREATE TABLE b (k int, w text);
CREATE MATERIALIZED VIEW joined AS SELECT * FROM a FULL JOIN b USING (k);
CREATE MATERIALIZED VIEW natural_left AS SELECT * FROM a NATURAL LEFT JOIN b;
CREATE MATERIALIZED VIEW padded AS SELECT k, a.k AS ak, b.k AS bk FROM a RIGHT JOIN b USING (k);
tick    a +(1,'x') +(2,'y') +(NULL,'n'); b +(2,'p') +(3,'q')
expect  joined +(1,'x',NULL) +(2,'y','p') +(3,NULL,'q') +(NULL,'n',NULL)
expect  natural_left +(1,'x',NULL) +(2,'y','p') +(NULL,'n',NULL)
expect  padded +(2,2,2) +(3,NULL,3)
tick    a -(2,'y'); b +(1,'r')
expect  joined -(1,'x',NULL) -(2,'y','p') +(1,'x','r') +(2,NULL,'p')
expect  natural_left -(1,'x',NULL) -(2,'y','p') +(1,'x','r')
expect  padded -(2,2,2) +(2,NULL,2) +(1,1,1)

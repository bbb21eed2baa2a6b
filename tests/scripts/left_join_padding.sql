-- left_join_padding: an unmatched row is padded with NULLs for as long as it is unmatched
CREATE TABLE users (id int, name text);
CREATE TABLE logins (id int, host text);
CREATE MATERIALIZED VIEW seen AS SELECT name, host FROM users LEFT JOIN logins ON users.id = logins.id;
tick    users +(1,'ann')
expect  seen +('ann',NULL)
tick    logins +(1,'a') +(2,'x')
expect  seen -('ann',NULL) +('ann','a')
tick    logins +(1,'b')
expect  seen +('ann','b')
tick    logins -(1,'a') -(1,'b')
expect  seen -('ann','a') -('ann','b') +('ann',NULL)
tick    users -(1,'ann'); logins +(1,'c')
expect  seen -('ann',NULL)

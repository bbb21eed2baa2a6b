-- not_in_with_null: one NULL in the list makes NOT IN say nothing about anybody
CREATE TABLE people (name text);
CREATE TABLE blocked (name text);
CREATE MATERIALIZED VIEW welcome AS SELECT name FROM people WHERE name NOT IN (SELECT name FROM blocked);
tick    people +('ann') +('bob') +(NULL)
expect  welcome +('ann') +('bob') +(NULL)
tick    blocked +('bob')
expect  welcome -('bob') -(NULL)
tick    blocked +(NULL)
expect  welcome -('ann')
tick    blocked -(NULL) -('bob')
expect  welcome +('ann') +('bob') +(NULL)

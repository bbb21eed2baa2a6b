-- exists: EXISTS asks whether, not how often
CREATE TABLE authors (id int, name text);
CREATE TABLE books (author int, pages int);
CREATE MATERIALIZED VIEW published AS
    SELECT name FROM authors WHERE EXISTS (SELECT 1 FROM books WHERE author = id AND pages > 100);
CREATE MATERIALIZED VIEW unpublished AS
    SELECT name FROM authors WHERE NOT EXISTS (SELECT 1 FROM books WHERE author = id);
tick    authors +(1,'ann') +(2,'bob')
expect  published
expect  unpublished +('ann') +('bob')
tick    books +(1,200) +(1,300) +(2,50)
expect  published +('ann')
expect  unpublished -('ann') -('bob')
tick    books -(1,200)
expect  published
tick    books -(1,300) -(2,50)
expect  published -('ann')
expect  unpublished +('ann') +('bob')

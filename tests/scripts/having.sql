-- having: a group appears when it passes HAVING and leaves when it no longer does
CREATE TABLE hits (page text);
CREATE MATERIALIZED VIEW popular AS SELECT page, count(*) AS n FROM hits GROUP BY page HAVING count(*) > 1;
tick    hits +('a') +('b')
expect  popular
tick    hits +('a')
expect  popular +('a',2)
tick    hits +('a')
expect  popular -('a',2) +('a',3)
tick    hits -('a') -('a')
expect  popular -('a',3)

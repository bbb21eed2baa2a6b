-- schemas: a name means what the session's path says, and what was made of it means the same ever after
CREATE TABLE t (v int);
CREATE SCHEMA x;
error   CREATE SCHEMA x; 42P06
error   CREATE SCHEMA pg_mine; 42939
CREATE TABLE x.t (v int);
error   CREATE TABLE y.t (v int); 3F000
error   CREATE TABLE pg_catalog.t (v int); 42501
tick    t +(1); x.t +(10)
answer  SELECT (SELECT v FROM t), (SELECT v FROM public.t), (SELECT v FROM materialize.x.t); (1,1,10)
-- made with a path, read without
SET search_path = x, public;
answer  SELECT current_schema(), v FROM t; (x,10)
CREATE MATERIALIZED VIEW m AS SELECT t.v FROM t JOIN public.t AS other ON other.v < t.v;
CREATE VIEW above AS SELECT v + 1 AS v FROM m;
RESET search_path;
error   SELECT * FROM m; 42P01
answer  SELECT v FROM x.above; (11)
tick    x.t +(20)
expect  x.m +(20)
-- nothing of the path is there
SET search_path = nobody;
error   CREATE TABLE lost (v int); 3F000
answer  SELECT current_schema() IS NULL; (t)
RESET search_path;
-- what was made without a path means the same to those who have one
CREATE MATERIALIZED VIEW plain AS SELECT v FROM t;
SET search_path = x;
ALTER TABLE public.t RENAME TO t2;
ALTER TABLE public.t2 RENAME TO t;
RESET search_path;
tick    t +(2)
expect  plain +(2)
tick    t -(2)
-- under another name
ALTER SCHEMA x RENAME TO z;
tick    z.t +(30)
expect  z.m +(30)
error   SELECT * FROM x.t; 3F000
ALTER TABLE z.t RENAME TO u;
tick    z.u +(40)
expect  z.m +(40)
-- each under the other's
CREATE SCHEMA next;
CREATE TABLE next.u (v int);
CREATE MATERIALIZED VIEW next.m AS SELECT -v AS v FROM next.u;
ALTER SCHEMA z SWAP WITH next;
tick    z.u +(1); next.u +(45)
expect  z.m +(-1)
expect  next.m +(45)
ALTER SCHEMA next SWAP WITH z;
DROP SCHEMA next CASCADE;
-- and elsewhere
CREATE SCHEMA w;
CREATE INDEX by_v ON z.u (v);
error   ALTER INDEX z.by_v SET SCHEMA w; 0A000
error   ALTER TABLE z.u SET SCHEMA nobody; 3F000
ALTER TABLE z.u SET SCHEMA w;
tick    w.u +(50)
expect  z.m +(50)
answer  SELECT count(*) FROM pg_indexes WHERE schemaname = 'w'; (1)
ALTER MATERIALIZED VIEW z.m SET SCHEMA public;
answer  SELECT max(v) FROM m; (50)
CREATE TABLE w.t (v int);
error   ALTER TABLE t SET SCHEMA w; 42710
ALTER MATERIALIZED VIEW m SET SCHEMA z;
-- and away
error   DROP SCHEMA z; 2BP01
CREATE VIEW outside AS SELECT v FROM z.m;
DROP SCHEMA z CASCADE;
error   SELECT * FROM outside; 42P01
answer  SELECT count(*) FROM mz_schemas WHERE name = 'z'; (0)
DROP SCHEMA IF EXISTS z;
error   DROP SCHEMA z; 3F000

-- SELECT … INTO at the top becomes CREATE TABLE AS; nothing else changes.
-- before
SELECT a, b INTO made FROM t WHERE a > 1 ORDER BY b LIMIT 3
-- after
CREATE TABLE made AS SELECT a, b FROM t WHERE a > 1 ORDER BY b LIMIT 3
-- before
SELECT 1 AS x INTO TEMP scratch
-- after
CREATE TEMPORARY TABLE scratch AS SELECT 1 AS x
-- before
WITH c AS (SELECT 1 AS a) SELECT a INTO s.made FROM c
-- after
CREATE TABLE s.made AS WITH c AS (SELECT 1 AS a) SELECT a FROM c
-- before
SELECT a FROM t
-- after
SELECT a FROM t
-- before
CREATE TABLE made AS SELECT a FROM t
-- after
CREATE TABLE made AS SELECT a FROM t
-- before
INSERT INTO t SELECT a FROM u
-- after
INSERT INTO t SELECT a FROM u
-- before
SELECT (SELECT 1) AS a UNION SELECT 2
-- after
SELECT (SELECT 1) AS a UNION SELECT 2

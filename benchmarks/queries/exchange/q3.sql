SELECT count(*), sum(s) FROM (SELECT k, sum(v) AS s FROM t GROUP BY k) AS grouped;

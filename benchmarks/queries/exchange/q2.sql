SELECT g, avg(v), count(*) FROM t GROUP BY g;

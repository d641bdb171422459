SELECT w, sum(v) AS s FROM t JOIN d ON t.k = d.k GROUP BY w ORDER BY w LIMIT 5;

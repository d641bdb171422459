SELECT count(*), sum(v1) FROM (
    SELECT id1, sum(v1) AS v1 FROM x GROUP BY id1
) AS answer

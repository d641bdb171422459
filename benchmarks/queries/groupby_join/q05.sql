SELECT count(*), sum(v1), sum(v2), sum(v3) FROM (
    SELECT id6, sum(v1) AS v1, sum(v2) AS v2, sum(v3) AS v3 FROM x GROUP BY id6
) AS answer

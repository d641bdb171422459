SELECT count(*), sum(v1), sum(v2), sum(v3) FROM (
    SELECT id4, avg(v1) AS v1, avg(v2) AS v2, avg(v3) AS v3 FROM x GROUP BY id4
) AS answer

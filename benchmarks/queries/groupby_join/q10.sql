SELECT count(*), sum(v3), sum(count) FROM (
    SELECT id1, id2, id3, id4, id5, id6, sum(v3) AS v3, count(*) AS count FROM x GROUP BY id1, id2, id3, id4, id5, id6
) AS answer

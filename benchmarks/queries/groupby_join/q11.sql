SELECT count(*), sum(v1), sum(v2) FROM (
    SELECT x.id1, x.v1, small.v2 FROM x2 x JOIN small USING (id1)
) AS answer

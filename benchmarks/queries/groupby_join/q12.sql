SELECT count(*), sum(v1), sum(v2) FROM (
    SELECT x.id2, x.v1, medium.v2 FROM x2 x JOIN medium USING (id2)
) AS answer

SELECT count(*), sum(v1), sum(v2) FROM (
    SELECT x.id5, x.v1, medium.v2 FROM x2 x JOIN medium USING (id5)
) AS answer

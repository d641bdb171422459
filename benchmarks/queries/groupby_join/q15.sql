SELECT count(*), sum(v1), sum(v2) FROM (
    SELECT x.id3, x.v1, big.v2 FROM x2 x JOIN big USING (id3)
) AS answer

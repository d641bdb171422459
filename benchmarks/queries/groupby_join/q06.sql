SELECT count(*), sum(median_v3), sum(sd_v3) FROM (
    SELECT id4, id5, percentile_cont(0.5) WITHIN GROUP (ORDER BY v3) AS median_v3, stddev(v3) AS sd_v3 FROM x GROUP BY id4, id5
) AS answer

SELECT count(*), sum(largest2_v3) FROM (
    SELECT id6, v3 AS largest2_v3 FROM (SELECT id6, v3, row_number() OVER (PARTITION BY id6 ORDER BY v3 DESC) AS order_v3 FROM x WHERE v3 IS NOT NULL) sub WHERE order_v3 <= 2
) AS answer

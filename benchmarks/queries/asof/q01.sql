SELECT count(*), count(q.price), sum(q.price)
FROM trades a ASOF LEFT JOIN quotes q ON a.symbol = q.symbol AND a.t >= q.t

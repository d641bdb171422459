SELECT a.symbol, count(*), count(q.price), sum(q.price), max(q.t)
FROM trades a ASOF LEFT JOIN quotes q ON a.symbol = q.symbol AND a.account = q.account AND a.t >= q.t
GROUP BY a.symbol

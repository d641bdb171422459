SELECT count(*), count(q.price), sum(q.price)
FROM trades a ASOF LEFT JOIN quotes q ON a.account = q.account AND a.t >= q.t

SELECT count(*), sum(q.price) FROM trades a ASOF JOIN quotes q ON a.account = q.account AND a.t < q.t

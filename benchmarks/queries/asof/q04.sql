SELECT count(*), sum(q.price) FROM trades a ASOF JOIN quotes q ON a.t >= q.t

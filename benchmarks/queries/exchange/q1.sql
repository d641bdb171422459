SELECT sum(v) FROM t;

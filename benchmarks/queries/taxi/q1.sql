SELECT cab_type, count(*) FROM trips GROUP BY cab_type;

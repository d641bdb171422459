SELECT passenger_count, avg(total_amount) FROM trips GROUP BY passenger_count;

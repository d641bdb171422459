-- The four queries of the 1.1 billion taxi rides benchmark; a line of comment before each is its title.
-- Rides by kind of cab
SELECT cab_type, count(*) FROM trips GROUP BY cab_type;
-- What a ride costs, by number of passengers
SELECT passenger_count, avg(total_amount) FROM trips GROUP BY passenger_count;
-- Rides by number of passengers and year
SELECT passenger_count, extract(year from pickup_datetime) AS pickup_year, count(*)
FROM trips GROUP BY passenger_count, pickup_year;
-- Rides by number of passengers, year and miles
SELECT passenger_count, extract(year from pickup_datetime) AS pickup_year, cast(trip_distance as int) AS distance, count(*) AS the_count
FROM trips GROUP BY passenger_count, pickup_year, distance ORDER BY pickup_year, the_count desc;

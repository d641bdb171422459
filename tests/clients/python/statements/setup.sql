CREATE SCHEMA sales
CREATE TYPE sales.mood AS ENUM ('sad', 'so so', 'happy')
CREATE DOMAIN sales.positive AS integer DEFAULT 1 CHECK (VALUE > 0)
CREATE TYPE sales.place AS (street text, number integer)
CREATE TABLE sales.customers (id serial PRIMARY KEY, name varchar(40) NOT NULL DEFAULT 'x', mood sales.mood, rank sales.positive, tags text[], notes jsonb, address inet, big bigint GENERATED ALWAYS AS IDENTITY, balance numeric(10, 2) CHECK (balance > 0), joined timestamptz DEFAULT now(), born date, wakes time, code char(3), active boolean)
CREATE TABLE sales.orders (id bigint, line integer, customer integer NOT NULL REFERENCES sales.customers (id) ON DELETE CASCADE, at timestamp, amount double precision, PRIMARY KEY (id, line), CONSTRAINT once UNIQUE (customer, at))
CREATE INDEX orders_at ON sales.orders (at)
CREATE VIEW sales.rich AS SELECT id, name FROM sales.customers WHERE balance > 100
CREATE MATERIALIZED VIEW sales.totals AS SELECT customer, sum(amount) AS total FROM sales.orders GROUP BY customer
CREATE SEQUENCE sales.tickets START 5 INCREMENT 2 CACHE 3
CREATE FUNCTION sales.twice(a integer, b integer DEFAULT 2) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT a * b'
CREATE PROCEDURE sales.tidy(INOUT a integer) LANGUAGE plpgsql AS 'BEGIN a := a + 1; END'
CREATE FUNCTION sales.stamp() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.joined := now(); RETURN NEW; END'
CREATE TRIGGER stamped BEFORE UPDATE ON sales.customers FOR EACH ROW EXECUTE FUNCTION sales.stamp()
COMMENT ON SCHEMA sales IS 'what is sold'
COMMENT ON TABLE sales.customers IS 'who buys'
COMMENT ON COLUMN sales.customers.name IS 'the full name'
COMMENT ON CONSTRAINT once ON sales.orders IS 'one at a time'
COMMENT ON FUNCTION sales.twice(integer, integer) IS 'a product'
GRANT SELECT ON sales.customers TO PUBLIC
GRANT UPDATE (name) ON sales.customers TO PUBLIC
GRANT USAGE ON SCHEMA sales TO PUBLIC
INSERT INTO sales.customers (name, mood, rank, tags, notes, address, balance, joined, born, wakes, code, active) VALUES ('Ann', 'happy', 1, '{a,b}', '{"city": "Bonn", "size": {"m": 3}}', '10.0.0.1', 250.5, '2018-04-12 18:01:02.5+00', '1970-02-28', '07:30', 'abc', true), ('Bob', 'sad', 2, NULL, '{"city": "Ulm"}', NULL, 12, '2018-04-12 18:04:00+00', '2000-02-29', '09:00:01', 'x', false)
INSERT INTO sales.orders VALUES (1, 1, 1, '2018-04-12 18:00:10', 10.5), (1, 2, 1, '2018-04-12 18:03:00', 2), (2, 1, 2, '2018-04-12 18:07:30', 7), (3, 1, 2, '2018-06-01 00:00:00', 3.25)

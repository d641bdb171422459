-- A trading company, as pg_dump writes schemas: short types, pictures, views over joins, numeric checks, a schema.
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET client_min_messages = warning;
CREATE SCHEMA trade;
COMMENT ON SCHEMA trade IS 'orders and those who take them';
CREATE TABLE trade.categories (category_id smallint NOT NULL, category_name character varying(15) NOT NULL, description text, picture bytea);
CREATE TABLE trade.customers (
    customer_id character(5) NOT NULL,
    company_name character varying(40) NOT NULL,
    city character varying(15),
    country character varying(15)
);
CREATE TABLE trade.employees (
    employee_id smallint NOT NULL,
    last_name character varying(20) NOT NULL,
    birth_date date,
    reports_to smallint,
    salary numeric(8,2) GENERATED ALWAYS AS ((1000 + (employee_id * 10))) STORED
);
CREATE TABLE trade.products (
    product_id smallint NOT NULL,
    product_name character varying(40) NOT NULL,
    category_id smallint,
    unit_price real,
    units_in_stock smallint DEFAULT 0,
    discontinued integer NOT NULL,
    CONSTRAINT products_price CHECK ((unit_price >= (0)::double precision))
);
CREATE TABLE trade.orders (
    order_id integer NOT NULL,
    customer_id character(5),
    employee_id smallint,
    order_date date,
    shipped_date date,
    freight real,
    ship_to jsonb DEFAULT '{}'::jsonb NOT NULL
);
CREATE TABLE trade.order_details (
    order_id integer NOT NULL,
    product_id smallint NOT NULL,
    unit_price real NOT NULL,
    quantity smallint NOT NULL,
    discount real DEFAULT 0 NOT NULL
);
CREATE VIEW trade.order_subtotals AS
 SELECT order_details.order_id, (sum(((order_details.unit_price * (order_details.quantity)::double precision) * ((1)::double precision - order_details.discount))))::numeric(10,2) AS subtotal
   FROM trade.order_details
  GROUP BY order_details.order_id;
CREATE VIEW trade.late AS
 SELECT o.order_id, c.company_name, (o.shipped_date - o.order_date) AS days
   FROM (trade.orders o JOIN trade.customers c ON ((c.customer_id = o.customer_id)))
  WHERE ((o.shipped_date - o.order_date) > 5);
COPY trade.categories (category_id, category_name, description, picture) FROM stdin;
1	Beverages	Soft drinks, coffees	\\x
2	Condiments	Sweet and savory	\\xdeadbeef
\.
COPY trade.customers (customer_id, company_name, city, country) FROM stdin;
ALFKI	Alfreds Futterkiste	Berlin	Germany
ANATR	Ana Trujillo	México D.F.	Mexico
BER  	Berglunds	\N	Sweden
\.
COPY trade.employees (employee_id, last_name, birth_date, reports_to) FROM stdin;
1	Davolio	1948-12-08	2
2	Fuller	1952-02-19	\N
3	Leverling	1963-08-30	2
\.
COPY trade.products (product_id, product_name, category_id, unit_price, units_in_stock, discontinued) FROM stdin;
1	Chai	1	18	39	0
2	Chang	1	19.1	17	1
3	Aniseed Syrup	2	10	13	0
\.
COPY trade.orders (order_id, customer_id, employee_id, order_date, shipped_date, freight, ship_to) FROM stdin;
10248	ALFKI	1	1996-07-04	1996-07-16	32.38	{"name": "Vins", "lines": [1, 2]}
10249	ANATR	3	1996-07-05	1996-07-10	11.61	{}
10250	BER  	3	1996-07-08	\N	65.83	{"name": null}
\.
COPY trade.order_details (order_id, product_id, unit_price, quantity, discount) FROM stdin;
10248	1	14	12	0
10248	3	9.8	10	0
10249	2	18.6	9	0.15
10250	1	7.7	10	0.05
\.
ALTER TABLE ONLY trade.categories ADD CONSTRAINT pk_categories PRIMARY KEY (category_id);
ALTER TABLE ONLY trade.customers ADD CONSTRAINT pk_customers PRIMARY KEY (customer_id);
ALTER TABLE ONLY trade.employees ADD CONSTRAINT pk_employees PRIMARY KEY (employee_id);
ALTER TABLE ONLY trade.products ADD CONSTRAINT pk_products PRIMARY KEY (product_id);
ALTER TABLE ONLY trade.orders ADD CONSTRAINT pk_orders PRIMARY KEY (order_id);
ALTER TABLE ONLY trade.order_details ADD CONSTRAINT pk_order_details PRIMARY KEY (order_id, product_id);
ALTER TABLE ONLY trade.orders ADD CONSTRAINT fk_orders_customers FOREIGN KEY (customer_id) REFERENCES trade.customers(customer_id);
ALTER TABLE ONLY trade.orders ADD CONSTRAINT fk_orders_employees FOREIGN KEY (employee_id) REFERENCES trade.employees(employee_id);
ALTER TABLE ONLY trade.order_details ADD CONSTRAINT fk_details_products FOREIGN KEY (product_id) REFERENCES trade.products(product_id);
ALTER TABLE ONLY trade.order_details ADD CONSTRAINT fk_details_orders FOREIGN KEY (order_id) REFERENCES trade.orders(order_id) ON DELETE CASCADE;
ALTER TABLE ONLY trade.employees ADD CONSTRAINT fk_employees_employees FOREIGN KEY (reports_to) REFERENCES trade.employees(employee_id);

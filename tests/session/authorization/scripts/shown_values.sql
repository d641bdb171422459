-- Errors about rows show a role the values that it wrote itself or may read.
CREATE ROLE clerk; CREATE ROLE feeder;
CREATE TABLE ledger (book int, entry int, amount int CHECK (amount <= 100), PRIMARY KEY (book, entry));
CREATE TABLE notes (book int, entry int, note text, FOREIGN KEY (book, entry) REFERENCES ledger);
INSERT INTO ledger VALUES (7, 1, 50), (7, 2, 60), (8, 1, 70);
INSERT INTO notes VALUES (7, 2, 'checked');
GRANT SELECT (book), INSERT (book, entry, amount), UPDATE (book, entry, amount), DELETE ON ledger TO clerk;
GRANT SELECT, INSERT, DELETE ON notes TO clerk;
GRANT INSERT ON ledger, notes TO feeder;
SET SESSION AUTHORIZATION clerk;
INSERT INTO ledger (book, entry) VALUES (7, 1);
UPDATE ledger SET entry = 9 WHERE book = 7;
INSERT INTO ledger (entry, book) VALUES (NULL, NULL);
INSERT INTO ledger (amount) VALUES (20);
INSERT INTO ledger (book) VALUES (11);
INSERT INTO ledger (entry) VALUES (11);
UPDATE ledger SET amount = 1000;
UPDATE ledger SET entry = NULL WHERE book = 8;
INSERT INTO notes VALUES (70, 80, 'of nothing');
DELETE FROM ledger WHERE book = 7;
SET SESSION AUTHORIZATION feeder;
INSERT INTO ledger (book) VALUES (11);
INSERT INTO ledger VALUES (11, 12, 130);
INSERT INTO ledger DEFAULT VALUES;
INSERT INTO ledger VALUES (7, 1, 1);
INSERT INTO notes VALUES (70, 80, 'of nothing');
RESET SESSION AUTHORIZATION;
INSERT INTO ledger (book) VALUES (11);
INSERT INTO ledger VALUES (7, 1, 1);
GRANT SELECT (entry) ON ledger TO clerk;
SET SESSION AUTHORIZATION clerk;
INSERT INTO ledger (book, entry) VALUES (7, 1);
UPDATE ledger SET entry = 9 WHERE book = 7;
UPDATE ledger SET entry = 20 WHERE book = 7 AND entry = 2;
COPY ledger (book) FROM stdin;
11
\.
COPY ledger FROM stdin;
7	1	1
\.
COPY ledger FROM stdin;
11	1	1000
\.
INSERT INTO ledger VALUES (7, 1, 3) ON CONFLICT (book, entry) DO UPDATE SET amount = 1200;
MERGE INTO ledger USING (VALUES (7, 1)) AS v(a, b) ON book = a AND entry = b WHEN MATCHED THEN UPDATE SET amount = 1200;
BEGIN;
SET CONSTRAINTS ALL DEFERRED;
INSERT INTO notes VALUES (71, 81, 'of nothing');
ROLLBACK;

-- LISTEN, NOTIFY and UNLISTEN as one session sees them.
-- cases
LISTEN no_one;
LISTEN "No Two";
SELECT pg_listening_channels();
SELECT * FROM pg_listening_channels() AS c (channel) ORDER BY 1;
NOTIFY no_one;
NOTIFY no_one, 'hello';
SELECT pg_notify('no_one', 'again');
SELECT pg_notify('x' || 'y', NULL);
SELECT pg_notification_queue_usage();
UNLISTEN no_one;
SELECT pg_listening_channels();
BEGIN;
LISTEN no_three;
SELECT pg_listening_channels();
ROLLBACK;
SELECT pg_listening_channels();
DISCARD ALL;
SELECT pg_listening_channels();
UNLISTEN *;
-- messages
-- error 22023
SELECT pg_notify('', 'x');
-- error 22023
SELECT pg_notify(NULL, 'x');
-- error 22023
SELECT pg_notify(repeat('x', 64), 'x');
-- error 22023
SELECT pg_notify('x', repeat('x', 8000));

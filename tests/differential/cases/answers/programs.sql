-- What programs ask when they connect, or of the server's state.
-- cases
select name from pg_settings where vartype in ('integer', 'real') and setting !~ '^-?[0-9.]+(e[+-]?[0-9]+)?$';
select name, setting, unit, vartype from pg_settings where name in ('statement_timeout', 'lock_timeout');
select stats_reset is not null, stats_reset <= now() from pg_stat_bgwriter;

-- Literal names of objects (regclass and its kin) are looked up where they are read, whether or not a row reaches them.
-- setup
create schema answers_named_objects;
set search_path = answers_named_objects;
-- setup
create table t(a int);
insert into t values (1), (2);
create schema answers_s;
create table answers_s.u(a int);
-- cases
-- error 42P01
select * from t where a > 100 and a::oid = 'nope'::regclass;
-- error 42P01
select 'nope'::regclass from t where false;
-- error 42P01
select case when a > 5 then 'nope'::regclass end from t;
-- error 42P01
select case when false then 'nope'::regclass end;
-- error 42P01
select (select 'nope'::regclass where false);
-- error 42P01
select 1 from t where false and 0 = 'answers_s.nope'::regclass::oid;
-- error 42704
select 'nope'::regtype from t where false;
-- error 42883
select 'nope'::regproc from t where false;
-- error 42704
select 'nope'::regrole from t where false;
-- error 3F000
select 'nope'::regnamespace from t where false;
-- error 42883
select 'nope(int)'::regprocedure from t where false;
-- error 42P01
insert into t select 1 from t where 'nope'::regclass = 5;
-- error 42P01
update t set a = 5 where a = 100 and 'nope'::regclass::oid = 5;
-- error 42P01
delete from t where a = 100 and 'nope'::regclass::oid = 5;
select 'answers_s.u'::regclass::text from t where a > 1;
select count(*) from t where 'nope'::text is null and to_regclass('nope') is null;
select 'nope'::text::regclass from t where false;
select 1 from t where false and null::regclass is null;
-- error 42704
select 'u'::regtype from t where false and a::text::regclass is null;
-- error 42P01
select 'nowhere.x'::regclass;
-- error 3F000
select 'nowhere.x'::regtype;
-- error 3F000
select has_table_privilege('nowhere.x', 'SELECT');
-- refused 0A000: operators are not looked up by their names
select '|/'::regoper;

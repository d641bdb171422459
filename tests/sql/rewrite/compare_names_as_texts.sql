-- A text is compared with a role's name as with a text.
-- before
SELECT a FROM t WHERE a::text = current_user AND session_user <> t_b::text
-- after
SELECT a FROM t WHERE a::text = current_user::text AND session_user::text <> t_b::text
-- A name that a row decides stays a name.
-- before
SELECT a FROM t WHERE a::text = t_b::text::name
-- after
SELECT a FROM t WHERE a::text = t_b::text::name

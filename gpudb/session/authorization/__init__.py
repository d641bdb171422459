"""Authorization: what a role may do. Imports the session's context and what is below it."""

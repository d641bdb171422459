"""Who may connect: rules in the form of PostgreSQL's pg_hba.conf. Imports from catalog, errors and config only."""

"""Several servers over one catalog in PostgreSQL and one data directory."""

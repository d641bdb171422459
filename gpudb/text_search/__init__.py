"""Full-text search: documents and queries as PostgreSQL has them, without tables or engines."""

"""Text and binary forms of values, single and in columns, compared with a real PostgreSQL."""

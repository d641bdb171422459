"""Values: their text and binary forms against a real PostgreSQL, single ones and columns."""

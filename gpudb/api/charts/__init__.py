"""What charts draw, computed by the database: bins, groups, samples and quartiles. Imports types and errors."""

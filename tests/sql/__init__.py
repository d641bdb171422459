"""SQL's way to a bound statement: parsing, rewrite rules by fixture, names, positions of errors, walking."""

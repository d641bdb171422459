"""The star schema benchmark: its tables at any scale (`data`), their schema and the thirteen queries."""

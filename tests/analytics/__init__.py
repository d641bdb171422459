"""Training and scoring without a database: figures, parameters, and formats."""

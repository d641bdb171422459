"""Training and scoring, without a database."""

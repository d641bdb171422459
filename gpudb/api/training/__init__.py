"""Rows for training: batches in a shuffled order, and matrices of XGBoost."""

"""Ownership: who may create, change and drop objects. Imports DDL's look-ups and what is below them."""

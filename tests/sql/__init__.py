"""Tests of the sql room: parsing, rewrite rules by fixture, output names, positions of errors, traversal."""

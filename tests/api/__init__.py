"""Tests of the Python API, embedded and over the wire."""

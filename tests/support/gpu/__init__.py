"""Stages run in this process, random tables and statements, faults, and the comparison with the embedded engine."""

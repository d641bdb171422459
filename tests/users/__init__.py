"""Whole sessions of the people who use gpudb, over files like those that they would download."""

"""COPY's three formats: text, csv and binary, read into Arrow batches and written from them.

    bytes → split (blocks of whole rows) → reader (block → batch: fast, or exact) → pipeline (in order, several at once)
    batches → writer | binary_writer → bytes

Imports errors, types, values and catalog.model alone; it knows neither sessions nor files.
"""

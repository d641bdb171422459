"""COPY's formats: text, csv and binary, read into Arrow batches and written from them, and arrow, which is written.

    bytes → split (blocks of whole rows) → reader (block → batch: fast, or exact) → pipeline (in order, in parallel)
    batches → writer → bytes

May import `row_errors` of storage, and `errors`, `types`, `values` and `catalog.model` of gpudb; it knows neither
sessions nor files.
"""

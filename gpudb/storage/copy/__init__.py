"""COPY's formats: text, csv and binary, read into Arrow batches and written from them, and arrow, which is written.

    bytes → split (blocks of whole rows) → reader (block → batch: fast, or exact) → pipeline (in order, in parallel)
    batches → writer → bytes

`process_reader` reads blocks in the processes of loads, as their reader does in this one.

May import `row_errors` and `row_processes` of storage, and `errors`, `types`, `values`, `processes` and `catalog.model`
of gpudb; it knows neither sessions nor files.
"""

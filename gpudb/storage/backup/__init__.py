"""Backups of a data directory: written to a folder or to S3 while it is in use, verified, and restored.

    DEST/backups/ID.json     one backup: its commit, its time, its configuration, its files with lengths and checksums
    DEST/backups/ID.db       its catalog
    DEST/files/OID/…         data and metadata files, each stored once, whichever backups hold it

Files are immutable, so a backup copies only those that no earlier one holds. A backup exists once ID.json does, which
is written last.
"""

"""Settings of the backups that a server writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from gpudb.config.fields import Within


@dataclass(frozen=True)
class BackupSettings:
    """What a server's `storage.backup.schedule` gets."""

    backup_dir: str | None = None
    """Folder, or URL (`s3://bucket/prefix`), of the backups that the server writes every `backup_interval`."""
    backup_interval: Annotated[float, Within(ge=1)] = 86_400.0
    """Time between backups, in seconds."""
    backup_keep: Annotated[int, Within(ge=1)] | None = None
    """Number of backups to keep in `backup_dir`; older ones are removed. The default is all."""

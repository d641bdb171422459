"""Settings of the listener: its address, its certificates, how many clients it takes, and how they authenticate."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from gpudb.config.fields import Within


@dataclass(frozen=True)
class WireSettings:
    """What `server.wire` reads, and the database, which counts its sessions too."""

    host: str = "127.0.0.1"
    """Address to listen on. An address off loopback needs a role with a password."""
    port: Annotated[int, Within(ge=0, le=65535)] = 5433
    """TCP port. 0 selects a free one."""
    max_connections: Annotated[int, Within(ge=1, le=100_000)] = 1000
    """Maximum number of concurrent clients."""
    superuser_reserved_connections: Annotated[int, Within(ge=0)] = 3
    """How many of `max_connections` are for superusers alone."""
    hba_file: Path | None = None
    """File of rules who may connect, in the form of PostgreSQL's pg_hba.conf. Without one roles without a password log
    in from loopback, and all others with their password. SIGHUP and `pg_reload_conf()` load it again."""
    role_passwords: Path | None = None
    """Directory of files with passwords: each is named as a role and has its password. At the start, and when SIGHUP
    comes, the roles get these passwords; one that does not exist is created with LOGIN."""
    authentication_timeout: Annotated[float, Within(gt=0, le=600)] = 60.0
    """Time in seconds that a client has to authenticate."""
    max_unauthenticated_connections: Annotated[int, Within(ge=1, le=100_000)] = 500
    """Maximum number of clients that have not authenticated yet; beyond it the oldest of the address with the most
    ends."""
    max_unauthenticated_per_address: Annotated[int, Within(ge=1, le=100_000)] = 100
    """Maximum number of clients of one address (of IPv6, a /64 network) that have not authenticated yet."""
    failed_login_delay: Annotated[float, Within(ge=0, le=60)] = 5.0
    """Longest delay in seconds of the answer to a failed login. It grows with an address' failures; 0 is none."""
    shutdown_timeout: Annotated[float, Within(ge=0)] = 5.0
    """Seconds that transactions have to end after SIGTERM, before they are cancelled."""
    tls_cert: Path | None = None
    """Certificate chain in PEM, with `tls_key`. Without one the server signs a certificate itself."""
    tls_key: Path | None = None
    """Private key of `tls_cert`, in PEM."""
    tls_ca: Path | None = None
    """Certificates of authorities in PEM, by which clients' certificates are verified."""

    def check_wire(self) -> None:
        """Raises ValueError for settings that do not go together."""
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ValueError("tls_cert and tls_key go together")

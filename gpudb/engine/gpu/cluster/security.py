"""Dask's TLS settings for a cluster: certificates made for one of this process, or files for one that others started.

Scheduler, nannies, workers and the client refuse a peer without a certificate of their authority, before they read
anything of it.
"""

from __future__ import annotations

import logging
import ssl
from pathlib import Path
from typing import Any

from gpudb.certificates import CertificateFiles, check_private_key, create_cluster_certificates, locate_member
from gpudb.errors import SqlError

_LOG = logging.getLogger(__name__)

_MEMBER = "member"
_TLS = "tls://"


def create_security(directory: Path) -> Any:
    """Returns `distributed.Security` over new certificates in a directory that only this user may enter.

    The authority's key is not kept: no further member can join.
    """
    directory = directory / "certificates"
    create_cluster_certificates(directory, [_MEMBER], keep_authority_key=False)
    return _make_security(locate_member(directory, _MEMBER))


def load_security(scheduler: str, files: CertificateFiles | None, *, insecure: bool) -> Any | None:
    """Returns `distributed.Security` for the scheduler at an address; None for one that is `insecure`.

    Raises F0000 for files that cannot be used, and for a scheduler without TLS that is not declared insecure.
    """
    if files is None or not scheduler.startswith(_TLS):
        if not insecure or scheduler.startswith(_TLS):
            message = f'the scheduler at "{scheduler}" cannot be used without certificates'
            hint = (
                "Start it with certificates, and give its tls:// address with the settings cluster_tls_ca, "
                "cluster_tls_cert and cluster_tls_key. Where whoever reaches it may run any code on its hosts, "
                "set cluster_insecure."
            )
            raise SqlError.of("config_file_error", message, hint=hint)
        _LOG.warning("the cluster at %s runs the code of whoever reaches it: cluster_insecure is set", scheduler)
        return None
    try:
        check_private_key(files.key)
        security = _make_security(files)
        security.get_connection_args("client")
    except (OSError, ssl.SSLError) as error:
        message = f'could not load the cluster\'s certificate "{files.certificate}": {error}'
        raise SqlError.of("config_file_error", message) from error
    return security


def _make_security(files: CertificateFiles) -> Any:
    from distributed import Security

    certificate, key = str(files.certificate), str(files.key)
    return Security(  # type: ignore[no-untyped-call]
        require_encryption=True,
        tls_ca_file=str(files.authority),
        tls_client_cert=certificate,
        tls_client_key=key,
        tls_scheduler_cert=certificate,
        tls_scheduler_key=key,
        tls_worker_cert=certificate,
        tls_worker_key=key,
    )

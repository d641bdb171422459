"""How an object storage is reached: endpoint, credentials and limits of time. Credentials are never shown."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

CONNECT_SECONDS, REQUEST_SECONDS, ATTEMPTS = 10.0, 20.0, 4


@dataclass(frozen=True, slots=True)
class StoreOptions:
    """Options of one storage. A request may send nothing for `request_seconds`, and is tried `attempts` times.

    Without credentials, and not `anonymous`, those of the environment count: variables such as AWS_ACCESS_KEY_ID,
    profiles, and the identity of the machine. `server` names the foreign server that they are from, for errors.
    """

    endpoint: str | None = None
    region: str | None = None
    anonymous: bool = False
    connect_seconds: float = CONNECT_SECONDS
    request_seconds: float = REQUEST_SECONDS
    attempts: int = ATTEMPTS
    account: str | None = None
    server: str | None = None
    key_id: str | None = field(default=None, repr=False)
    secret: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)


def read_environment(scheme: str, environment: Mapping[str, str] = os.environ) -> StoreOptions:
    """Returns endpoint, region and account that the environment has for a storage.

    Its credentials are found by the libraries.
    """
    get = environment.get
    if scheme == "s3":
        endpoint = get("AWS_ENDPOINT_URL_S3") or get("AWS_ENDPOINT_URL")
        return StoreOptions(endpoint=endpoint, region=get("AWS_REGION") or get("AWS_DEFAULT_REGION"))
    account = get("AZURE_STORAGE_ACCOUNT_NAME") or get("AZURE_STORAGE_ACCOUNT")
    return StoreOptions(account=account if scheme == "az" else None)

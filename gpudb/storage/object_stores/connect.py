"""Connections to object storages, as file systems of pyarrow that are shared by their options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from gpudb.errors import SqlError
from gpudb.lru import LruCache
from gpudb.storage.object_stores.errors import convert_store_errors
from gpudb.storage.object_stores.options import StoreOptions

if TYPE_CHECKING:
    from pyarrow import fs

_DEFAULT_REGION = "us-east-1"
_connected: LruCache[tuple[str, str, StoreOptions], fs.FileSystem] = LruCache(64)


def connect(scheme: str, bucket: str, options: StoreOptions) -> fs.FileSystem:
    """Returns the file system of a bucket; its paths begin with the bucket. Sends nothing, but to find S3's region.

    22023 for options that the storage does not take; see `convert_store_errors`.
    """
    key = (scheme, bucket if scheme == "s3" and options.region is None and options.endpoint is None else "", options)
    known = _connected.get(key)
    if known is None:
        try:
            with convert_store_errors(f"{scheme}://{bucket}"):
                known = _CONNECTORS[scheme](bucket, options)
        except (ValueError, TypeError) as error:
            raise SqlError.of("invalid_parameter_value", f"invalid options of an object storage: {error}") from None
        _connected.put(key, known)
    return known


def _connect_s3(bucket: str, options: StoreOptions) -> fs.FileSystem:
    from pyarrow import fs

    given: dict[str, Any] = _read_endpoint(options)
    return fs.S3FileSystem(
        access_key=options.key_id,
        secret_key=options.secret,
        session_token=options.token,
        anonymous=options.anonymous,
        region=options.region or (_DEFAULT_REGION if given else fs.resolve_s3_region(bucket)),
        connect_timeout=options.connect_seconds,
        request_timeout=options.request_seconds,
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=options.attempts),
        allow_delayed_open=True,  # small files take one request
        **given,
    )


def _connect_gs(_: str, options: StoreOptions) -> fs.FileSystem:
    from datetime import timedelta

    from pyarrow import fs

    return fs.GcsFileSystem(
        anonymous=options.anonymous,
        access_token=options.token,
        retry_time_limit=timedelta(seconds=options.request_seconds),
        **_read_endpoint(options),
    )


def _connect_az(_: str, options: StoreOptions) -> fs.FileSystem:
    from pyarrow import fs

    if not options.account:
        raise ValueError("Azure needs account_name, or the variable AZURE_STORAGE_ACCOUNT_NAME")
    given: dict[str, Any] = {}
    if options.endpoint:
        parts = urlsplit(options.endpoint)
        for kind in ("blob", "dfs"):
            given |= {f"{kind}_storage_authority": parts.netloc, f"{kind}_storage_scheme": parts.scheme}
    return fs.AzureFileSystem(options.account, account_key=options.secret, sas_token=options.token, **given)


def _read_endpoint(options: StoreOptions) -> dict[str, Any]:
    if not options.endpoint:
        return {}
    parts = urlsplit(options.endpoint)
    if parts.scheme not in ("http", "https") or not parts.netloc or "@" in parts.netloc or parts.path not in ("", "/"):
        raise ValueError("an endpoint is http://host:port or https://host:port")
    return {"endpoint_override": parts.netloc, "scheme": parts.scheme}


_CONNECTORS = {"s3": _connect_s3, "gs": _connect_gs, "az": _connect_az}

"""Settings of the server program and of embedded databases: `GPUDB_*` variables and a TOML file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, ByteSize, Field, ValidationError, model_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from gpudb.certificates import CertificateFiles
from gpudb.errors import GpudbError

FILE_VARIABLE = "GPUDB_CONFIG"
"""Environment variable that names the settings file, unless the command line does."""


def _normalize_unit(value: object) -> object:
    """Size units: PostgreSQL's (`512MB` is 512 × 2²⁰ bytes) and IEC's (`GiB`). A plain number is bytes."""
    if isinstance(value, str):
        text = value.strip().lower()
        for unit in ("kb", "mb", "gb", "tb"):
            if text.endswith(unit):
                return text[:-2] + unit[0] + "ib"
    return value


Bytes = Annotated[ByteSize, BeforeValidator(_normalize_unit)]


class Settings(BaseSettings):
    """Settings of `gpudb serve`. Precedence: code, `GPUDB_*` variables, the settings file, defaults.

    The file is TOML with these names as keys; unknown keys are rejected.
    """

    model_config = SettingsConfigDict(env_prefix="GPUDB_", extra="forbid", frozen=True)

    host: str = "127.0.0.1"
    """Address to listen on. An address off loopback needs a role with a password."""
    port: int = Field(default=5433, ge=0, le=65535)
    """TCP port. 0 selects a free one."""
    http_host: str = "127.0.0.1"
    """Address on which health and metrics are served. Whoever reaches it may read them, without a password."""
    http_port: int | None = Field(default=None, ge=0, le=65535)
    """TCP port of health and metrics over HTTP: `/healthz`, `/readyz`, `/metrics`. 0 selects a free one; the default is
    none, and no HTTP."""
    track_statements: bool = True
    """Whether finished statements are counted: for metrics, `pg_stat_statements` and `gpudb_query_log`."""
    query_log_rows: int = Field(default=100_000, ge=0, le=10_000_000)
    """How many statements `gpudb_query_log` keeps, also over restarts; 0 is none."""
    query_log_min_duration: float = Field(default=0.01, ge=0)
    """Seconds that a statement takes at least to be kept in `gpudb_query_log`; those that fail are always. 0 is all."""
    trace_endpoint: str | None = None
    """Address of a collector that takes OpenTelemetry's traces by OTLP over HTTP, such as
    `http://127.0.0.1:4318/v1/traces`. The default is none: nothing is traced. Needs the extra `otel`."""
    trace_ratio: float = Field(default=0.01, ge=0, le=1)
    """Share of statements that are traced, of those without a `traceparent` in a comment."""
    trace_limit: int = Field(default=5, ge=0)
    """Statements a second that are traced at most, of those without a `traceparent`; 0 for any number."""
    data_dir: Path = Path("gpudb-data")
    """Directory of the tables; created if it is missing."""
    catalog: str | None = Field(default=None, pattern=r"^postgres(ql)?://")
    """URL of a database of PostgreSQL (`postgresql://user@host/database`) that has the catalog, so that any number of
    servers, its coordinators, may have `data_dir` open at once. The default is a file in `data_dir`, and one server."""
    tables_url: str | None = None
    """Prefix of an object storage (`s3://bucket/prefix`, `gs://…`, `az://…`) where the tables' files lie. A new
    `data_dir` takes it and remembers it; it keeps the catalog, and copies of the files that were read or written."""
    spill_dir: Path | None = None
    """Directory of this server alone for temporary files of operations that exceed memory, such as a local disk's when
    `data_dir` is on the network. The default is in `data_dir`."""
    memory_limit: Bytes | None = None
    """Memory limit of the CPU engine, in bytes (`8GB`). The default is 80% of the machine's memory."""
    gpu_memory_limit: Bytes | None = None
    """Memory limit of a worker on its GPU, in bytes. The default is all that is free when it starts."""
    max_connections: int = Field(default=1000, ge=1, le=100_000)
    """Maximum number of concurrent clients."""
    superuser_reserved_connections: int = Field(default=3, ge=0)
    """How many of `max_connections` are for superusers alone."""
    hba_file: Path | None = None
    """File of rules who may connect, in the form of PostgreSQL's pg_hba.conf. Without one roles without a password log
    in from loopback, and all others with their password. SIGHUP and `pg_reload_conf()` load it again."""
    role_passwords: Path | None = None
    """Directory of files with passwords: each is named as a role and has its password. At the start, and when SIGHUP
    comes, the roles get these passwords; one that does not exist is created with LOGIN."""
    authentication_timeout: float = Field(default=60.0, gt=0, le=600)
    """Time in seconds that a client has to authenticate."""
    max_unauthenticated_connections: int = Field(default=500, ge=1, le=100_000)
    """Maximum number of clients that have not authenticated yet; beyond it the oldest of the address with the most
    ends."""
    max_unauthenticated_per_address: int = Field(default=100, ge=1, le=100_000)
    """Maximum number of clients of one address (of IPv6, a /64 network) that have not authenticated yet."""
    failed_login_delay: float = Field(default=5.0, ge=0, le=60)
    """Longest delay in seconds of the answer to a failed login. It grows with an address' failures; 0 is none."""
    max_running_statements: int = Field(default=0, ge=0)
    """Default of `gpudb.max_running_statements`: how many statements of a role run at once, short ones aside. 0 is any
    number."""
    max_statement_timeout: str = "0"
    """Default of `gpudb.max_statement_timeout`: the longest `statement_timeout` of roles (`10min`). 0 is any."""
    temp_file_limit: Bytes | None = None
    """Limit of the temporary files of all statements, in bytes: of the CPU engine, and of each worker. The default is
    what the disk has."""
    shutdown_timeout: float = Field(default=5.0, ge=0)
    """Seconds that transactions have to end after SIGTERM, before they are cancelled."""
    tls_cert: Path | None = None
    """Certificate chain in PEM, with `tls_key`. Without one the server signs a certificate itself."""
    tls_key: Path | None = None
    """Private key of `tls_cert`, in PEM."""
    tls_ca: Path | None = None
    """Certificates of authorities in PEM, by which clients' certificates are verified."""
    statement_log: Path | None = None
    """File to which each statement is written with its time, duration and SQLSTATE."""
    audit_log: Path | None = None
    """File to which logins, failed logins, disconnects, and statements on roles and objects are written as JSON."""
    engine: Literal["auto", "cpu", "gpu", "twin"] = "auto"
    """Engine of queries. `auto` is `gpu` where `gpudb doctor` finds GPUs and their packages, else `cpu`. `twin` is the
    GPU engine's cluster on CPU workers, for tests without a GPU."""
    snapshot_retention: float = Field(default=3600.0, ge=0)
    """Default of `gpudb.snapshot_retention`, in seconds: how long `FOR SYSTEM_TIME AS OF` finds what a later commit has
    replaced. 0 keeps nothing."""
    snapshot_limit: int = Field(default=100, ge=1, le=10_000)
    """Maximum number of kept snapshots of a table; older ones are discarded before their time."""
    backup_dir: str | None = None
    """Folder, or URL (`s3://bucket/prefix`), of the backups that the server writes every `backup_interval`."""
    backup_interval: float = Field(default=86_400.0, ge=1.0)
    """Time between backups, in seconds."""
    backup_keep: int | None = Field(default=None, ge=1)
    """Number of backups to keep in `backup_dir`; older ones are removed. The default is all."""
    scheduler: str | None = None
    """Address of a Dask scheduler (`tls://host:8786`) whose workers run the stages: those of `dask cuda worker` for the
    engine gpu, which `auto` then is, those of `dask worker` for twin. Without one the server starts its own workers."""
    scheduler_timeout: float | None = Field(default=None, gt=0, le=86_400)
    """Seconds that the server waits for a scheduler to answer, and then for its workers. The default is 10, and 90."""
    cluster_tls_ca: Path | None = None
    """Certificate of the authority that signs those of the scheduler, of its workers and of this server, in PEM."""
    cluster_tls_cert: Path | None = None
    """This server's certificate for the scheduler, in PEM."""
    cluster_tls_key: Path | None = None
    """Private key of `cluster_tls_cert`, in PEM."""
    cluster_insecure: bool = False
    """Whether a scheduler without certificates may be used: whoever reaches it or its workers runs any code there."""
    workers: int | None = Field(default=None, ge=1, le=1024)
    """Number of workers: of the twin engine, 2 by default, or of a scheduler's workers, all by default."""

    @model_validator(mode="after")
    def _check_scheduler(self) -> Self:
        if self.scheduler is not None and self.engine == "cpu":
            raise ValueError("scheduler goes with the engines gpu and twin")
        return self

    @model_validator(mode="after")
    def _check_cluster(self) -> Self:
        given = {self.cluster_tls_ca is None, self.cluster_tls_cert is None, self.cluster_tls_key is None}
        if len(given) > 1:
            raise ValueError("cluster_tls_ca, cluster_tls_cert and cluster_tls_key go together")
        if self.scheduler is None and (self.cluster_tls_ca is not None or self.cluster_insecure):
            raise ValueError("cluster_tls_ca and cluster_insecure go with scheduler")
        return self

    @property
    def cluster_certificates(self) -> CertificateFiles | None:
        """This server's files for the scheduler."""
        if self.cluster_tls_ca is None or self.cluster_tls_cert is None or self.cluster_tls_key is None:
            return None
        return CertificateFiles(self.cluster_tls_ca, self.cluster_tls_cert, self.cluster_tls_key)

    @model_validator(mode="after")
    def _check_traces(self) -> Self:
        if self.trace_endpoint is not None and not self.track_statements:
            raise ValueError("trace_endpoint goes with track_statements")
        return self

    @model_validator(mode="after")
    def _check_tls(self) -> Self:
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ValueError("tls_cert and tls_key go together")
        return self

    @model_validator(mode="after")
    def _check_reserved_connections(self) -> Self:
        if self.superuser_reserved_connections >= self.max_connections:
            if "superuser_reserved_connections" in self.model_fields_set:
                raise ValueError("superuser_reserved_connections must be less than max_connections")
            object.__setattr__(self, "superuser_reserved_connections", self.max_connections - 1)
        return self

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Sources in order of precedence: code, environment, file. Dotenv files and secrets folders are not read."""
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)


def load(file: Path | None = None, **overrides: Any) -> Settings:
    """Returns the settings: `overrides` (None means not given), then `GPUDB_*`, then the file.

    Errors: F0000 (config_file_error) naming each bad setting.
    """
    path = file or (Path(path_variable) if (path_variable := os.environ.get(FILE_VARIABLE)) else None)
    if path is not None and not path.is_file():
        raise GpudbError(f'settings file "{path}" does not exist', condition="config_file_error")

    class FromFile(Settings):
        model_config = SettingsConfigDict(toml_file=path)

    try:
        return FromFile(**{name: value for name, value in overrides.items() if value is not None})
    except ValidationError as error:
        raise GpudbError(_format_errors(error), condition="config_file_error") from None
    except (SettingsError, ValueError, OSError) as error:
        raise GpudbError(f"settings cannot be read: {error}", condition="config_file_error") from None


def _format_errors(error: ValidationError) -> str:
    lines = []
    for detail in error.errors():
        where = ".".join(str(part) for part in detail["loc"])
        if detail["type"] == "extra_forbidden":
            lines.append(f'there is no setting "{where}"')
        else:
            message = detail["msg"].removeprefix("Value error, ")
            lines.append(f"{where}: {message}" if where else message)
    return "; ".join(lines)

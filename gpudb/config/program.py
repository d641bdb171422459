"""Settings of the server program: `GPUDB_*` variables and a TOML file."""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from typing import Any, Self

from pydantic import ValidationError, model_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from gpudb.config.backup import BackupSettings
from gpudb.config.database import DatabaseSettings
from gpudb.config.http import HttpSettings
from gpudb.errors import GpudbError

FILE_VARIABLE = "GPUDB_CONFIG"
"""Environment variable that names the settings file, unless the command line does."""
_SIMILAR = 0.7
"""How like an unknown name a setting's is that it may mean: 1 is equal."""


# mypy does not see that pydantic freezes the class.
class Settings(BaseSettings, DatabaseSettings, HttpSettings, BackupSettings):  # type: ignore[misc]
    """Settings of `gpudb serve`, those of all rooms.

    Precedence: code, `GPUDB_*` variables, the settings file, defaults. The file is TOML with these names as keys;
    unknown keys are rejected.
    """

    model_config = SettingsConfigDict(env_prefix="GPUDB_", extra="forbid", frozen=True)

    data_dir: Path = Path("gpudb-data")
    """Directory of the tables; created if it is missing."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        self.check_engine()
        self.check_observe()
        self.check_wire()
        if self.http_tls and self.tls_cert is None:
            raise ValueError("http_tls needs tls_cert and tls_key")
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

    Errors: F0000 (config_file_error) naming each bad setting, and the settings that unknown ones may mean.
    """
    path = file or (Path(path_variable) if (path_variable := os.environ.get(FILE_VARIABLE)) else None)
    if path is not None and not path.is_file():
        raise GpudbError(f'settings file "{path}" does not exist', condition="config_file_error")

    class FromFile(Settings):  # type: ignore[misc]
        model_config = SettingsConfigDict(toml_file=path)

    try:
        return FromFile(**{name: value for name, value in overrides.items() if value is not None})
    except ValidationError as error:
        raise GpudbError(_format_errors(error), hint=_suggest(error), condition="config_file_error") from None
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


def _suggest(error: ValidationError) -> str | None:
    """Returns the hint with the settings whose names are nearest to those that do not exist."""
    unknown = [str(detail["loc"][0]) for detail in error.errors() if detail["type"] == "extra_forbidden"]
    near = [
        found
        for name in unknown
        for found in difflib.get_close_matches(name.lower(), Settings.model_fields, 1, _SIMILAR)
    ]
    if near:
        return f"Perhaps you meant {' and '.join(near)}."
    return "Parameters of sessions, such as work_mem, are set by ALTER SYSTEM." if unknown else None

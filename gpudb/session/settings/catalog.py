"""Settings (SET, SHOW): their definitions, and a session's values."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from itertools import count

from gpudb.errors import FeatureNotSupported, SqlError, UndefinedObject
from gpudb.session.settings.checks import Check, Setting, boolean, choice, integer, invalid_value
from gpudb.session.settings.date_style import check_date_style, merge_date_style
from gpudb.session.settings.planner import planner_settings
from gpudb.session.settings.vector_search import vector_settings
from gpudb.text_search.configurations import get_configuration, get_configuration_oid
from gpudb.values.datetime_style import INTERVAL_STYLES
from gpudb.values.zones import name_session_zone, parse_session_zone


def single_value(name: str, value: str) -> Check:
    """A check for a PostgreSQL setting with a single supported value; other values are refused, not ignored."""

    def check(value_given: str) -> str:
        if value_given.strip().lower().replace(" ", "") != value.lower().replace(" ", ""):
            raise FeatureNotSupported(f'parameter "{name}" can only be {value} in gpudb')
        return value

    return check


FRIENDLY = "gpudb.friendly_sql"
"""Whether statements may have DuckDB's and Snowflake's constructs (`sql.parse.friendly`)."""
LOG_STATEMENT, LOG_PLAN = "log_min_duration_statement", "auto_explain.log_min_duration"
_UNITS = {"us": 0.001, "ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}


@lru_cache(256)
def parse_milliseconds(text: str) -> int:
    """Milliseconds of a time setting: `5000`, `5s`, `1min`, `0`."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(us|ms|s|min|h|d)?\s*", text)
    if match is None:
        raise ValueError(text)
    return round(float(match[1]) * _UNITS[match[2] or "ms"])


_CENTURY_MS = 100 * 365 * 86_400_000


def duration(name: str, most: int = 2**31 - 1) -> Check:
    """A check for a time of at most `most` ms; SHOW uses the largest unit that divides it, as in PostgreSQL."""

    def check(value: str) -> str:
        try:
            number = parse_milliseconds(value)
        except ValueError:
            hint = 'Valid units for this parameter are "us", "ms", "s", "min", "h", and "d".'
            raise invalid_value(name, value, hint if re.match(r"\s*[+-]?[\d.]", value) else None) from None
        if number > most:
            message = f'{number} ms is outside the valid range for parameter "{name}" (0 .. {most})'
            raise SqlError.of("invalid_parameter_value", message)
        for unit in ("d", "h", "min", "s"):
            if number and number % int(_UNITS[unit]) == 0:
                return f"{number // int(_UNITS[unit])}{unit}"
        return f"{number}ms" if number else "0"

    return check


def optional_duration(name: str) -> Check:
    """A check for a time, or -1 for none."""
    check_duration = duration(name)

    def check(value: str) -> str:
        text = value.strip().removesuffix("ms").rstrip()
        if not re.fullmatch(r"-\d+", text):
            return check_duration(value)
        if int(text) != -1:
            message = f'{int(text)} ms is outside the valid range for parameter "{name}" (-1 .. {2**31 - 1})'
            raise SqlError.of("invalid_parameter_value", message)
        return "-1"

    return check


def parse_optional_seconds(text: str) -> float:
    """Seconds of a time that may be -1, which is infinite: no statement takes so long."""
    return math.inf if text == "-1" else parse_milliseconds(text) / 1000


def time_zone(value: str) -> str:
    """Checks a time zone: a name, an abbreviation or an offset."""
    parse_session_zone(value)
    return name_session_zone(value)


def temp_file_limit(value: str) -> str:
    """Returns a limit in bytes as SHOW prints it; -1 for none."""
    size = int(value) // 1024 * 1024
    if size <= 0:
        return "-1" if size < 0 else "0"
    unit, scale = next(each for each in _SIZES if size % each[1] == 0)
    return f"{size // scale}{unit}"


def _text_search_configuration(value: str) -> str:
    try:
        oid = get_configuration_oid(value)
    except UndefinedObject:
        raise invalid_value("default_text_search_config", value) from None
    return f"pg_catalog.{get_configuration(oid).name}"


def _never_with_oids(value: str) -> str:
    if boolean("default_with_oids")(value) != "off":
        raise FeatureNotSupported("tables declared WITH OIDS are not supported")
    return "off"


_SIZES = (("TB", 1 << 40), ("GB", 1 << 30), ("MB", 1 << 20), ("kB", 1 << 10))
_digits = integer("extra_float_digits", -15, 3)


def _float_digits(value: str) -> str:
    digits = _digits(value)
    if int(digits) < 1:
        raise FeatureNotSupported('parameter "extra_float_digits" can only be 1, 2 or 3 in gpudb')
    return digits


VERSION = "16.4"
AUDIT = "gpudb.audit"
"""Setting that superusers give a role by ALTER ROLE … SET; no session can change it."""
SNAPSHOT_LIMIT, SNAPSHOT_RETENTION = "gpudb.snapshot_limit", "gpudb.snapshot_retention"
_ALL = (
    Setting("application_name", "", "Sets the application name to be reported in statistics.", reported=True),
    Setting("authentication_timeout", "1min", "Sets the maximum allowed time to complete client authentication.",
            duration("authentication_timeout"), fixed=True, kind="integer"),
    Setting("block_size", "8192", "Shows the size of a disk block.", fixed=True),
    Setting("bytea_output", "hex", "Sets the output format for bytea.", single_value("bytea_output", "hex")),
    Setting("client_encoding", "UTF8", "Sets the client's character set encoding.",
            lambda v: _encoding(v), reported=True),
    Setting("client_min_messages", "notice", "Sets the message levels that are sent to the client.",
            choice("client_min_messages", "debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice",
                   "warning", "error")),
    Setting(LOG_PLAN, "-1", "Logs the plan of statements that take at least this time. -1 is none.",
            optional_duration(LOG_PLAN), kind="integer", superuser=True),
    Setting(LOG_STATEMENT, "-1",
            "Sets the minimum execution time above which all statements will be logged. -1 is none.",
            optional_duration(LOG_STATEMENT), kind="integer", superuser=True),
    Setting("check_function_bodies", "on", "Check routine bodies during CREATE FUNCTION.",
            boolean("check_function_bodies"), kind="bool"),
    Setting("createrole_self_grant", "",
            "Sets whether a CREATEROLE user automatically grants the role to themselves, and with which options.",
            lambda v: _self_grant_options(v)),
    Setting("data_checksums", "off", "Shows whether data checksums are turned on for this cluster.", fixed=True),
    Setting(
        "default_text_search_config",
        "pg_catalog.english",
        "Sets default text search configuration.",
        _text_search_configuration,
    ),
    Setting("DateStyle", "ISO, MDY", "Sets the display format for date and time values.", check_date_style,
            reported=True, merge=merge_date_style),
    Setting("default_table_access_method", "iceberg", "Sets the default table access method for new tables.",
            choice("default_table_access_method", "iceberg", "heap")),
    Setting("default_with_oids", "off", "Create new tables with OIDs by default.",
            lambda v: _never_with_oids(v), kind="bool"),
    Setting("default_tablespace", "", "Sets the default tablespace.", single_value("default_tablespace", "")),
    Setting("default_transaction_deferrable", "off", "Sets the default deferrable status of new transactions.",
            boolean("default_transaction_deferrable"), kind="bool"),
    Setting("default_transaction_isolation", "read committed", "Sets the isolation level of each new transaction.",
            choice("default_transaction_isolation", "serializable", "repeatable read", "read committed",
                   "read uncommitted")),
    Setting("default_transaction_read_only", "off", "Sets the default read-only status of new transactions.",
            boolean("default_transaction_read_only"), reported=True, kind="bool"),
    Setting("extra_float_digits", "1", "Sets the number of digits displayed for floating-point values.",
            _float_digits, kind="integer"),
    Setting(AUDIT, "ddl", "Which statements of a role the audit log has: those on roles and objects, or all.",
            choice(AUDIT, "ddl", "all"), fixed=True, kind="enum"),
    Setting("gpudb.serializable", "on", "Whether SERIALIZABLE is taken, as REPEATABLE READ; else it is refused.",
            boolean("gpudb.serializable"), kind="bool"),
    Setting("gpudb.vectorized", "off", "In CREATE FUNCTION, sets whether a function in PL/Python takes columns.",
            choice("gpudb.vectorized", "off", "on", "arrow", "numpy", "polars", "torch", "cupy"), kind="enum"),
    Setting("gpudb.vectors", "arrow", "Sets the form in which vectorised functions take columns.",
            choice("gpudb.vectors", "arrow", "numpy", "polars", "torch", "cupy"), kind="enum"),
    Setting("gpudb.fallback", "on", "Whether statements that no GPU can run go to the CPU engine.",
            boolean("gpudb.fallback"), kind="bool"),
    Setting("gpudb.fresh_reads", "off", "Whether transactions see all that other coordinators have committed before.",
            boolean("gpudb.fresh_reads"), kind="bool"),
    Setting(FRIENDLY, "on", "Whether SQL of DuckDB, ClickHouse and Snowflake is read that PostgreSQL rejects.",
            boolean(FRIENDLY), kind="bool"),
    Setting("gpudb.fused", "on", "Whether fused kernels compute the parts of plans that they can.",
            boolean("gpudb.fused"), kind="bool"),
    Setting("gpudb.console_url", "", "Shows the address of the console; empty without one.", fixed=True),
    Setting("gpudb.function_memory", "4096", "Limits the memory of a session's process for functions, in MB; 0 is any.",
            integer("gpudb.function_memory", 0, 1 << 30), kind="integer", superuser=True),
    Setting("gpudb.max_running_statements", "0", "Limits a role's concurrent statements, short ones aside.",
            integer("gpudb.max_running_statements", 0, 1_000_000), kind="integer", superuser=True),
    Setting("gpudb.max_statement_timeout", "0", "Limits statement_timeout, also of statements without one.",
            duration("gpudb.max_statement_timeout"), kind="integer", superuser=True),
    Setting(SNAPSHOT_LIMIT, "100", "Limits the number of kept snapshots of a table.",
            integer(SNAPSHOT_LIMIT, 1, 10_000), fixed=True, kind="integer", system=True),
    Setting(SNAPSHOT_RETENTION, "1h", "Sets how long earlier snapshots of tables are kept.",
            duration(SNAPSHOT_RETENTION, most=_CENTURY_MS), fixed=True, kind="integer", system=True),
    Setting("data_directory", "", "Sets the server's data directory.", fixed=True),
    Setting("hba_file", "", "Sets the server's \"hba\" configuration file.", fixed=True),
    Setting("client_connection_check_interval", "1s",
            "How often the server looks whether the client of a running statement has gone; 0 never does.",
            duration("client_connection_check_interval"), kind="integer"),
    Setting("idle_in_transaction_session_timeout", "0", "Ends a session that idles in a transaction for longer.",
            duration("idle_in_transaction_session_timeout"), kind="integer"),
    Setting("idle_session_timeout", "0", "Ends a session that idles outside of a transaction for longer.",
            duration("idle_session_timeout"), kind="integer"),
    Setting("in_hot_standby", "off", "Shows whether hot standby is currently active.", reported=True, fixed=True),
    Setting("integer_datetimes", "on", "Shows whether datetimes are integer based.", reported=True, fixed=True),
    Setting("IntervalStyle", "postgres", "Sets the display format for interval values.",
            choice("IntervalStyle", *INTERVAL_STYLES), reported=True),
    Setting("is_superuser", "on", "Shows whether the current user is a superuser.", reported=True, fixed=True,
            hidden=True),
    Setting("lock_timeout", "0", "Sets the maximum allowed duration of any wait for a lock.",
            duration("lock_timeout"), kind="integer"),
    Setting("max_connections", "1000", "Sets the maximum number of concurrent connections.", fixed=True),
    Setting("max_function_args", "100", "Shows the maximum number of function arguments.", fixed=True),
    Setting("max_identifier_length", "63", "Shows the maximum identifier length.", fixed=True),
    Setting("max_index_keys", "32", "Shows the maximum number of index keys.", fixed=True),
    Setting("password_encryption", "scram-sha-256", "Chooses the algorithm for encrypting passwords.",
            single_value("password_encryption", "scram-sha-256")),
    # SET ROLE and SET SESSION AUTHORIZATION change these: gpudb.session.authorization.session_role.
    Setting("role", "none", "Sets the current role.", fixed=True, hidden=True),
    Setting(
        "lo_compat_privileges",
        "off",
        "Lets all roles read and change large objects.",
        boolean("lo_compat_privileges"),
        kind="bool",
    ),
    Setting("row_security", "on", "Enable row security.", boolean("row_security"), kind="bool"),
    Setting("search_path", '"$user", public', "Sets the schema search order for names that are not qualified."),
    Setting("segment_size", "1GB", "Shows the number of pages per disk file.", fixed=True),
    Setting("server_encoding", "UTF8", "Shows the server's character set encoding.", reported=True, fixed=True),
    Setting("server_version", VERSION, "Shows the server version.", reported=True, fixed=True),
    Setting("server_version_num", "160004", "Shows the server version as an integer.", fixed=True),
    Setting("session_authorization", "", "Sets the session user name.", reported=True, fixed=True, hidden=True),
    Setting("session_replication_role", "origin", "Sets the session's behavior for triggers.",
            choice("session_replication_role", "origin", "replica", "local"), kind="enum", superuser=True),
    Setting("standard_conforming_strings", "on", "Causes '...' strings to treat backslashes literally.",
            single_value("standard_conforming_strings", "on"), reported=True, kind="bool"),
    Setting("statement_timeout", "0", "Sets the maximum allowed duration of any statement.",
            duration("statement_timeout"), kind="integer"),
    Setting("superuser_reserved_connections", "3", "Sets the number of connection slots reserved for superusers.",
            fixed=True, kind="integer"),
    Setting("synchronize_seqscans", "on", "Enable synchronized sequential scans.", boolean("synchronize_seqscans"),
            kind="bool"),
    Setting("synchronous_commit", "on", "Sets the current transaction's synchronization level.",
            single_value("synchronous_commit", "on")),
    Setting("temp_file_limit", "-1", "Limits the temporary files of all statements. -1 is no limit.",
            temp_file_limit, fixed=True, kind="integer"),
    Setting("TimeZone", "UTC", "Sets the time zone for displaying and interpreting time stamps.", time_zone,
            reported=True),
    Setting("transaction_deferrable", "off",
            "Whether to defer a read-only serializable transaction until it can be executed with no possible "
            "serialization failures.", boolean("transaction_deferrable"), kind="bool"),
    Setting("transaction_isolation", "read committed", "Shows the current transaction's isolation level.",
            choice("transaction_isolation", "serializable", "repeatable read", "read committed", "read uncommitted")),
    Setting("transaction_read_only", "off", "Sets the current transaction's read-only status.",
            boolean("transaction_read_only"), kind="bool"),
    *planner_settings(),
    *vector_settings(),
    Setting("xmloption", "content", "Sets whether XML data is a document or content.",
            single_value("xmloption", "content")),
)  # fmt: skip
SETTINGS: Mapping[str, Setting] = {each.name.lower(): each for each in _ALL}
_ALIASES = {"timezone": "timezone", "time zone": "timezone", "names": "client_encoding"}


def _encoding(value: str) -> str:
    # Punctuation is ignored: asyncpg sends "'utf-8'" with the quotes.
    if re.sub("[^a-z0-9]", "", value.lower()) not in {"utf8", "unicode", "sqlascii", "auto"}:
        raise FeatureNotSupported(f'client_encoding "{value}" is not supported', hint="Use UTF8.")
    return "UTF8"


def _self_grant_options(value: str) -> str:
    words = [word.strip().lower() for word in value.split(",")] if value.strip() else []
    unknown = next((word for word in words if word not in {"set", "inherit"}), None)
    if unknown is not None:
        raise SqlError.of(
            "invalid_parameter_value",
            f'invalid value for parameter "createrole_self_grant": "{value}"',
            detail=f'Unrecognized key word: "{unknown}".',
        )
    return value


def find_setting(name: str) -> Setting:
    """The setting of that name; 42704."""
    key = name.lower()
    found = SETTINGS.get(_ALIASES.get(key, key))
    if found is None:
        raise UndefinedObject(f'unrecognized configuration parameter "{name}"')
    return found


_KEPT_BY_RESET_ALL = frozenset({"role", "session_authorization", "is_superuser"})


def check_permission(setting: Setting, *, superuser: bool) -> None:
    """Raises 42501 for a setting of superusers if the user is none."""
    if setting.superuser and not superuser:
        raise SqlError.of("insufficient_privilege", f'permission denied to set parameter "{setting.name}"')


def check_initial_settings(settings: Mapping[str, str], *, superuser: bool) -> None:
    """Raises 42501 if a client that is no superuser connects with a setting of superusers."""
    for name in settings:
        found = SETTINGS.get(name.lower())
        if found is not None:
            check_permission(found, superuser=superuser)


def _check_value(found: Setting, value: str, values: Mapping[str, str], defaults: Mapping[str, str]) -> str:
    if found.merge is None:
        return found.check(value)
    key = found.name.lower()
    return found.merge(value, values[key], defaults[key])


SettingsSnapshot = tuple[dict[str, str], dict[str, str], dict[str, str]]
MODES = ("transaction_isolation", "transaction_read_only", "transaction_deferrable")
"""What belongs to one transaction, which begins with the setting `default_…`."""


class SettingValues:
    """A session's settings: defaults, then values of SET, then values of SET LOCAL.

    `begin` saves the values at the start of a transaction; `end` discards SET LOCAL, and every SET if the transaction
    failed. `version` changes with the values, but for the modes of a transaction, on which no plan depends, so that
    results that depend on settings can be cached. `check_mode` raises if a mode may not be set to a value now.
    """

    def __init__(self, defaults: Mapping[str, str]) -> None:
        self._defaults = {key: each.default for key, each in SETTINGS.items()}
        for name, value in defaults.items():
            found = find_setting(name)
            self._defaults[found.name.lower()] = found.check(value)
        self._session: dict[str, str] = {}
        self._local: dict[str, str] = {}
        self._modes: dict[str, str] = {}
        self._before: dict[str, str] | None = None
        self._values = dict(self._defaults)
        self.check_mode: Callable[[str, str], None] = lambda name, value: None
        self._last_reported: dict[str, str] = {}
        self._last_version = -1
        self._calls: dict[tuple[object, ...], int] = {}
        self._versions = count(1)
        self.version = 0

    def _update_values(self) -> None:
        self._values = {**self._defaults, **self._session, **self._local, **self._modes}
        self._calls.clear()
        self.version = next(self._versions)

    def __getitem__(self, name: str) -> str:
        """The value of a setting; 42704. Clients may define names with a dot."""
        found = self._values.get(name)
        if found is not None:
            return found
        key = name.lower()
        key = _ALIASES.get(key, key)
        return self._values[key] if key in self._values else self._values[find_setting(name).name.lower()]

    def set_initial(self, name: str, value: str) -> None:
        """Sets the value that RESET returns to: a role's, or one with which a client connects."""
        found = SETTINGS.get(_ALIASES.get(name.lower(), name.lower()))
        if found is not None and not found.fixed:
            self._defaults[found.name.lower()] = _check_value(found, value, self._defaults, self._defaults)
            self._update_values()
        else:
            self.set(name, value)

    def set(self, name: str, value: str | None, *, local: bool = False) -> None:
        """SET [LOCAL] name = value; None is DEFAULT. 42501 for a superuser's setting if the user is none."""
        key = name.lower()
        if "." in name and key not in SETTINGS:
            checked = value or ""
        else:
            found = find_setting(name)
            key = found.name.lower()
            if found.fixed:
                message = f'parameter "{found.name}" cannot be changed'
                raise SqlError.of("cant_change_runtime_param", message)
            check_permission(found, superuser=self._values["is_superuser"] == "on")
            if key in MODES:
                self._set_mode(key, value if value is None else found.check(value))
                return
            checked = self._defaults[key] if value is None else _check_value(found, value, self._values, self._defaults)
        if local:
            self._local[key] = checked
        else:
            self._session[key] = checked
            self._local.pop(key, None)
        self._update_values()

    def _set_mode(self, name: str, value: str | None) -> None:
        if value is None:
            raise FeatureNotSupported(f'parameter "{name}" cannot be reset')
        self.check_mode(name, value)
        self._modes[name] = self._values[name] = value

    def modes(self) -> dict[str, str]:
        """Returns the modes of the transaction."""
        return {name: self._values[name] for name in MODES}

    def begin_modes(self, modes: Mapping[str, str] | None = None) -> None:
        """Sets the modes of a transaction that begins, those of the one before it (AND CHAIN) or by default."""
        values = self._values
        for name in MODES:
            value = values[f"default_{name}"] if modes is None else modes[name]
            if values[name] != value:
                self._modes[name] = values[name] = value

    def assign(self, values: Mapping[str, str], *, local: bool = False) -> None:
        """Assigns values that the caller has checked, as SET [LOCAL] does; fixed settings included."""
        for key, value in values.items():
            if local:
                self._local[key] = value
            else:
                self._session[key] = value
                self._local.pop(key, None)
        self._update_values()

    def default(self, name: str) -> str:
        """The value of a setting after RESET."""
        return self._defaults[name]

    def reset_all(self) -> None:
        """RESET ALL, which keeps the current role and the session user."""
        for values in (self._session, self._local):
            for key in values.keys() - _KEPT_BY_RESET_ALL:
                del values[key]
        self._update_values()

    @contextmanager
    def within_call(self, values: Mapping[str, str], *, superuser: bool) -> Iterator[None]:
        """Has the values of a routine's SET clauses while it runs: a SET inside outlives them, a SET LOCAL does not.

        The same values over the same others have the same version in each call. 22023, and 42501 for a setting of
        superusers unless the routine runs as one.
        """
        checked = {name.lower(): self._check_for_call(name, value, superuser) for name, value in values.items()}
        version, before, outside = self.version, self._values, {key: self._local.get(key) for key in checked}
        call = (version, *checked.items())
        inside = self._calls.get(call)
        if inside is None:
            inside = self._calls[call] = next(self._versions)
        self._local.update(checked)
        self._values, self.version = {**before, **checked}, inside
        try:
            yield
        finally:
            for key, value in outside.items():
                if key not in self._local:
                    continue  # a SET inside has replaced it
                if value is None:
                    del self._local[key]
                else:
                    self._local[key] = value
            if self.version == inside:
                self._values, self.version = {**before, **self._modes}, version
            else:
                self._update_values()

    def _check_for_call(self, name: str, value: str, superuser: bool) -> str:
        found = SETTINGS.get(name.lower())
        if found is None:
            return value
        check_permission(found, superuser=superuser)
        return _check_value(found, value, self._values, self._defaults)

    def begin(self) -> None:
        """Saves the values at the start of a transaction."""
        self._before = dict(self._session)

    def snapshot(self) -> SettingsSnapshot:
        """Returns the current values, for `restore` at a ROLLBACK TO SAVEPOINT."""
        return dict(self._session), dict(self._local), self.modes()

    def restore(self, snapshot: SettingsSnapshot) -> None:
        """Undoes every SET since a snapshot, which can be restored again."""
        self._session, self._local, self._modes = map(dict, snapshot)
        self._update_values()

    def end(self, *, committed: bool) -> None:
        """Discards SET LOCAL at the end of a transaction, and every SET of a failed one."""
        before, self._before = self._before, None
        undone = not committed and before is not None and before != self._session
        if undone and before is not None:
            self._session = before
        if undone or self._local:
            self._local.clear()
            self._update_values()

    def show_all(self) -> list[tuple[str, str, str]]:
        """Name, value and description of every setting that is not hidden, in PostgreSQL's order."""
        ordered = sorted((each for each in SETTINGS.values() if not each.hidden), key=lambda each: each.name.lower())
        return [(each.name, self[each.name], each.description) for each in ordered]

    def reported(self) -> dict[str, str]:
        """The current values of the reported settings."""
        return {each.name: self[each.name] for each in SETTINGS.values() if each.reported}

    def changes(self) -> list[tuple[str, str]]:
        """Returns the reported settings that changed since the last call."""
        if self._last_version == self.version:
            return []
        now = self.reported()
        changed = [(name, value) for name, value in now.items() if self._last_reported.get(name) != value]
        self._last_reported, self._last_version = now, self.version
        return changed

    def force(self, name: str, value: str) -> None:
        """Sets a fixed setting for this session."""
        self._defaults[name.lower()] = value
        self._update_values()

"""COPY's options, validated as PostgreSQL's ProcessCopyOptions does."""

from __future__ import annotations

import codecs
import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Literal

from gpudb.errors import FeatureNotSupported, GpudbError, SqlError

OptionValue = str | int | bool | tuple[str, ...] | None
"""A parsed value: a word or string, a number, a list of names, `*` as the string, None if it is missing."""

Columns = tuple[str, ...] | Literal["*"]
Header = Literal["none", "skip", "match"]
LogVerbosity = Literal["silent", "default", "verbose"]


@dataclass(frozen=True, slots=True)
class RawOption:
    """An option as written; `location` is its byte offset in the statement."""

    name: str
    value: OptionValue
    location: int = -1


@dataclass(frozen=True, slots=True)
class CopyOptions:
    """Validated options. `delimiter`, `quote` and `escape` are single ASCII characters.

    A header is one line in COPY; load_data may skip more (`header_lines`). `encoding` is a Python codec's name,
    `encoding_name` is PostgreSQL's. `reject_limit` limits the rows that `ignore` may skip; None is no limit.
    `rejects_table` is the name of the table that gets them.

    Of csv that is read: the first `skip` lines and lines that begin with `comment` are left out, and empty ones with
    them (`skip_empty`), unless they are NULLs of the only column (see `for_width`; `blank` is what then stands for a
    line that is left out); `nulls` are further texts that are NULL; with `null_padding` a short row ends in NULLs;
    numbers are written with `thousands` and `decimal_separator`, dates and timestamps by strptime's `dateformat` and
    `timestampformat`. `skip_ragged` extends `ignore_errors` to rows of another number of fields, and `guard_zeros`
    makes a number whose leading zeros would be lost an error.
    """

    format: Literal["text", "csv", "binary", "arrow", "parquet", "json", "xlsx", "memory", "device_memory"] = "text"
    delimiter: str = "\t"
    null: str = "\\N"
    default: str | None = None
    header: Header = "none"
    header_lines: int = 1
    quote: str = '"'
    escape: str = '"'
    force_quote: Columns = ()
    force_not_null: Columns = ()
    force_null: Columns = ()
    encoding: str = "utf-8"
    encoding_name: str = "UTF8"
    ignore_errors: bool = False
    log_verbosity: LogVerbosity = "default"
    reject_limit: int | None = None
    rejects_table: str | None = None
    compression: str = "zstd"
    partition_by: tuple[str, ...] = ()
    skip: int = 0
    comment: str = ""
    skip_empty: bool = False
    blank: str = ""
    nulls: tuple[str, ...] = ()
    null_padding: bool = False
    thousands: str = ""
    decimal_separator: str = "."
    dateformat: str = ""
    timestampformat: str = ""
    skip_ragged: bool = False
    guard_zeros: bool = False

    @property
    def all_nulls(self) -> tuple[str, ...]:
        """All unquoted texts that are NULL."""
        return self.null, *self.nulls

    def for_width(self, columns: int) -> CopyOptions:
        """Returns the options for data of so many columns: an empty line is a NULL of an only one."""
        return replace(self, blank="\0") if columns == 1 and self.skip_empty else self

    @property
    def is_utf8(self) -> bool:
        """Whether the bytes need no conversion of their encoding."""
        return self.encoding == "utf-8"


class OptionError(Exception):
    """An error of one option, with that option's `location`."""

    def __init__(self, error: GpudbError, location: int) -> None:
        super().__init__(error.message)
        self.error = error
        self.location = location


def validate_options(
    raw_options: Sequence[RawOption], *, reading: bool, encoding: str = "UTF8", file: str = ""
) -> CopyOptions:
    """Validates the options of COPY FROM (`reading`) or COPY TO; `encoding` is the session's.

    The name of a `file` decides the format if no option does: one that PostgreSQL lacks.

    Raises OptionError with 42601, 22023 or 0A000 for one option, and these errors themselves for a combination.
    """
    known = {name: option for option in raw_options for name in [_check_known(option)]}
    if len(known) < len(raw_options):
        seen: set[str] = set()
        for option in raw_options:
            if option.name in seen:
                raise OptionError(_syntax_error("conflicting or redundant options"), option.location)
            seen.add(option.name)
    form = _format(known, file)
    if "freeze" in known:
        _boolean_value(known["freeze"])  # every row is written frozen
    nulls = known["null"].value if "null" in known else None
    texts = {
        name: _text_value(known[name]) for name in ("delimiter", "null", "quote", "escape", "default") if name in known
    }
    if isinstance(nulls, tuple):
        texts["null"], nulls = nulls[0], nulls[1:]
    ignore, limit = _on_error(known, form, reading)
    _check_no_text(form, known)
    if reading and form in {"arrow", "parquet", "json", "xlsx", "memory", "device_memory"}:
        is_file = form in {"parquet", "json", "xlsx"}
        hint = "Use INSERT INTO … SELECT … FROM 'file'." if is_file else "Use Connection.append."
        raise FeatureNotSupported(f"COPY FROM in the format {form} is not supported", hint=hint)
    codec, name = _encoding(known.get("encoding"), encoding, wide=reading and form == "csv")
    csv = form == "csv"
    options = CopyOptions(
        format=form,
        delimiter=texts.get("delimiter", "," if csv else "\t"),
        null=texts.get("null", "" if csv else "\\N"),
        default=texts.get("default"),
        header=_header(known, reading),
        quote=texts.get("quote", '"'),
        escape=texts.get("escape", texts.get("quote", '"')),
        force_quote=_columns(known, "force_quote"),
        force_not_null=_columns(known, "force_not_null"),
        force_null=_columns(known, "force_null"),
        encoding=codec,
        encoding_name=name,
        ignore_errors=ignore,
        log_verbosity=_log_verbosity(known),
        reject_limit=limit,
        rejects_table=_rejects_table(known, ignore=ignore),
        compression=_compression(known, form),
        partition_by=_partition_columns(known, form, reading),
    )
    if isinstance(nulls, tuple) or any(name in known for name in WRITTEN):
        options = _add_written(options, known, nulls if isinstance(nulls, tuple) else (), reading)
    _check_combinations(options, known, reading)
    return options


WRITTEN = ("skip", "comment", "null_padding", "thousands", "decimal_separator", "dateformat", "timestampformat")
"""Options of csv that is written in other ways than PostgreSQL writes it; COPY FROM and `read_csv` have them alike."""


def _add_written(
    options: CopyOptions, known: Mapping[str, RawOption], nulls: tuple[str, ...], reading: bool
) -> CopyOptions:
    """Returns options with those of WRITTEN, and further texts that are NULL."""
    for name in ("null", *WRITTEN):
        if name in known and (name != "null" or nulls):
            spoken = "several null texts are" if name == "null" else f"{name} is"
            if options.format != "csv":
                raise OptionError(
                    FeatureNotSupported(f"COPY {spoken} available only in CSV mode"), known[name].location
                )
            if not reading:
                raise OptionError(
                    FeatureNotSupported(f"COPY {spoken} only available using COPY FROM"), known[name].location
                )
    values: dict[str, str | int | bool] = {}
    for name in WRITTEN:
        if (option := known.get(name)) is not None:
            values[name] = _boolean_value(option) if name == "null_padding" else _text_value(option)
    try:
        return check_written(replace(options, nulls=nulls), values)
    except GpudbError as error:
        named = next((known[name] for name in values if name in error.message), None)
        raise (error if named is None else OptionError(error, named.location)) from None


def check_written(options: CopyOptions, values: Mapping[str, str | int | bool]) -> CopyOptions:
    """Returns options of csv with some of WRITTEN, which may be texts; 22023 for one that cannot be."""
    skip = str(values.get("skip", 0))
    if not (skip.isascii() and skip.isdigit()):
        raise _invalid_error(f'COPY skip must be a number of lines, not "{skip}"')
    comment = str(values.get("comment", ""))
    thousands, decimal = str(values.get("thousands", "")), str(values.get("decimal_separator", "."))
    for name, text in (("comment", comment), ("thousands", thousands), ("decimal_separator", decimal)):
        if text and (len(text.encode()) != 1 or text in "\r\n" or text == options.quote):
            raise _invalid_error(f"COPY {name} must be a single one-byte character other than the quote")
    if comment and (comment == options.delimiter or options.escape != options.quote):
        message = "COPY comment must not be the delimiter, and needs an escape that is the quote"
        raise _invalid_error(message)
    if not decimal or thousands == decimal or any(each.isalnum() or each in "+-" for each in thousands + decimal):
        message = "COPY thousands and decimal_separator must be different characters that numbers do not have"
        raise _invalid_error(message)
    return replace(
        options,
        skip=int(skip),
        comment=comment,
        skip_empty=options.skip_empty or "skip" in values or bool(comment),
        null_padding=bool(values.get("null_padding", False)),
        thousands=thousands,
        decimal_separator=decimal,
        dateformat=check_date_format("dateformat", str(values.get("dateformat", ""))),
        timestampformat=check_date_format("timestampformat", str(values.get("timestampformat", ""))),
    )


def check_date_format(name: str, text: str) -> str:
    """Returns a format of strptime that Python reads; 22023 for one that it does not know."""
    plain = text.replace("%-", "%")
    try:
        dt.datetime.strptime(dt.datetime(2001, 2, 3, 4, 5, 6, 7).strftime(plain), plain)
    except ValueError:
        message = f'COPY {name} "{text}" is no format of strptime'
        raise SqlError.of("invalid_parameter_value", message, hint="Such as %d/%m/%Y or %d.%m.%Y %H:%M.") from None
    return plain


NAMED_FORMATS: dict[str, Literal["arrow", "parquet", "xlsx"]] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".xlsx": "xlsx",
}
_COMPRESSIONS = ("zstd", "snappy", "gzip", "lz4", "brotli", "none")


def _compression(known: Mapping[str, RawOption], form: str) -> str:
    option = known.get("compression")
    if option is None:
        return "zstd"
    word = _text_value(option).lower()
    if form != "parquet":
        raise OptionError(_invalid_error("COPY compression requires the format parquet"), option.location)
    if word not in _COMPRESSIONS:
        message = f'COPY compression "{word}" not recognized'
        raise OptionError(_invalid_error(message), option.location)
    return word


def _partition_columns(known: Mapping[str, RawOption], form: str, reading: bool) -> tuple[str, ...]:
    option = known.get("partition_by")
    if option is None:
        return ()
    if reading:
        raise OptionError(_invalid_error("COPY partition_by cannot be used with COPY FROM"), option.location)
    if form not in {"parquet", "csv", "json", "arrow"}:
        message = f"COPY partition_by is not supported for the format {form}"
        raise OptionError(FeatureNotSupported(message), option.location)
    value = option.value
    names = value if isinstance(value, tuple) else (_text_value(option),)
    if len(set(names)) < len(names):
        raise OptionError(_syntax_error("conflicting or redundant options"), option.location)
    return names


_NAMES = frozenset(
    "format freeze delimiter null header quote escape force_quote force_not_null force_null encoding default"
    " convert_selectively on_error log_verbosity reject_limit rejects_table compression partition_by"
    " skip comment null_padding thousands decimal_separator dateformat timestampformat".split()
)


def _check_known(option: RawOption) -> str:
    if option.name not in _NAMES or option.name == "convert_selectively":
        raise OptionError(_syntax_error(f'option "{option.name}" not recognized'), option.location)
    return option.name


def _syntax_error(message: str) -> SqlError:
    return SqlError.of("syntax_error", message)


def _invalid_error(message: str) -> SqlError:
    return SqlError.of("invalid_parameter_value", message)


def _text_value(option: RawOption) -> str:
    value = option.value
    if value is None:
        raise _syntax_error(f"{option.name} requires a parameter")
    if isinstance(value, bool):
        return "true" if value else "false"
    return ".".join(value) if isinstance(value, tuple) else str(value)


def _boolean_value(option: RawOption) -> bool:
    found = _parse_switch(option)
    if found is None:
        raise _syntax_error(f"{option.name} requires a Boolean value")
    return found


def _parse_switch(option: RawOption) -> bool | None:
    value = option.value
    if value is None or isinstance(value, bool):
        return value is None or value
    if isinstance(value, int):
        return {0: False, 1: True}.get(value)
    word = _text_value(option).lower()
    return {"true": True, "on": True, "false": False, "off": False}.get(word)


def _format(
    known: Mapping[str, RawOption], file: str
) -> Literal["text", "csv", "binary", "arrow", "parquet", "json", "xlsx", "memory", "device_memory"]:
    if "format" not in known:
        # Not JSON: texts of one column that is JSON already are written to such names.
        return NAMED_FORMATS.get(PurePath(file).suffix.lower(), "text")
    word = _text_value(known["format"])
    match word:
        case "text" | "csv" | "binary" | "arrow" | "parquet" | "json" | "xlsx" | "memory" | "device_memory":
            return word
    raise OptionError(_invalid_error(f'COPY format "{word}" not recognized'), known["format"].location)


def _header(known: Mapping[str, RawOption], reading: bool) -> Header:
    option = known.get("header")
    if option is None:
        return "none"
    found = _parse_switch(option)
    if found is not None:
        return "skip" if found else "none"
    if isinstance(option.value, str) and option.value.lower() == "match":
        if not reading:
            raise FeatureNotSupported('cannot use "match" with HEADER in COPY TO')
        return "match"
    raise _syntax_error(f'{option.name} requires a Boolean value or "match"')


def _columns(known: Mapping[str, RawOption], name: str) -> Columns:
    option = known.get(name)
    if option is None:
        return ()
    value = option.value
    if isinstance(value, tuple):
        return value
    if value == "*":
        return "*"
    message = f'argument to option "{name}" must be a list of column names'
    raise OptionError(_invalid_error(message), option.location)


def _encoding(option: RawOption | None, default: str, *, wide: bool) -> tuple[str, str]:
    """Returns Python's codec and PostgreSQL's name of the encoding; `wide` is whether it may be UTF-16."""
    if option is None:
        return find_codec(default) or "utf-8", default
    text = "" if option.value is None else _text_value(option)
    codec = find_codec(text, wide=wide)
    if codec is None:
        message = f'argument to option "{option.name}" must be a valid encoding name'
        raise OptionError(_invalid_error(message), option.location)
    return codec, _ENCODING_NAMES.get(codec, text.upper())


_ENCODING_NAMES = {
    "utf-8": "UTF8",
    "iso8859-1": "LATIN1",
    "iso8859-2": "LATIN2",
    "iso8859-3": "LATIN3",
    "iso8859-4": "LATIN4",
    "iso8859-9": "LATIN5",
    "iso8859-15": "LATIN9",
}
# PostgreSQL's names that Python spells differently.
_CODECS = {
    "unicode": "utf-8",
    "sqlascii": "utf-8",
    "alt": "cp866",
    "win": "cp1251",
    "koi8": "koi8-r",
    "koi8r": "koi8-r",
    "koi8u": "koi8-u",
    "uhc": "cp949",
    "mskanji": "shift_jis",
    "shiftjis": "shift_jis",
    "sjis": "cp932",
    "tcvn": "cp1258",
    "vscii": "cp1258",
    "abc": "cp1258",
}
_WIDE = {"utf16": "utf-16", "ucs2": "utf-16", "utf16le": "utf-16-le", "utf16be": "utf-16-be"}
_NOT_ASCII = ("utf_16", "utf_32", "utf_7", "cp037", "cp500", "cp1026", "cp1140", "cp273", "cp424", "cp875")


def find_codec(name: str, *, wide: bool = False) -> str | None:
    """Returns Python's codec for PostgreSQL's name of an encoding (LATIN1, WIN1252, UTF8 …); None if there is none.

    `wide` allows UTF-16 too, which PostgreSQL lacks; without a byte order its mark tells it.
    """
    plain = "".join(char for char in name.lower() if char.isalnum())
    if wide and plain in _WIDE:
        return _WIDE[plain]
    candidates = [_CODECS.get(plain, plain)]
    if plain.startswith("windows") or plain.startswith("win"):
        candidates.append("cp" + plain.removeprefix("windows").removeprefix("win"))
    for candidate in candidates:
        try:
            codec = codecs.lookup(candidate)
        except (LookupError, ValueError):
            continue
        # Only encodings that contain ASCII can be split into rows; all of PostgreSQL's do.
        if codec._is_text_encoding and codec.name.replace("-", "_") not in _NOT_ASCII:
            return codec.name
    return None


def _on_error(known: Mapping[str, RawOption], form: str, reading: bool) -> tuple[bool, int | None]:
    ignore = False
    limit = None
    if (option := known.get("on_error")) is not None:
        word = _text_value(option).lower()
        if not reading:
            raise OptionError(_invalid_error("COPY ON_ERROR cannot be used with COPY TO"), option.location)
        if word not in {"stop", "ignore"}:
            raise OptionError(_invalid_error(f'COPY ON_ERROR "{_text_value(option)}" not recognized'), option.location)
        ignore = word == "ignore"
        if ignore and form == "binary":
            raise _syntax_error("only ON_ERROR STOP is allowed in BINARY mode")
    if (option := known.get("reject_limit")) is not None:
        text = _text_value(option)
        if not text.lstrip("-").isdecimal():
            raise _syntax_error("reject_limit requires a numeric value")
        limit = int(text)
        if limit <= 0:
            raise _invalid_error(f"REJECT_LIMIT ({limit}) must be greater than zero")
        if not ignore:
            raise _invalid_error("COPY REJECT_LIMIT requires ON_ERROR to be set to IGNORE")
    return ignore, limit


def _log_verbosity(known: Mapping[str, RawOption]) -> LogVerbosity:
    option = known.get("log_verbosity")
    if option is None:
        return "default"
    word = _text_value(option).lower()
    match word:
        case "silent" | "default" | "verbose":
            return word
    raise OptionError(_invalid_error(f'COPY LOG_VERBOSITY "{_text_value(option)}" not recognized'), option.location)


def _rejects_table(known: Mapping[str, RawOption], *, ignore: bool) -> str | None:
    option = known.get("rejects_table")
    if option is None:
        return None
    if not ignore:
        message = "COPY REJECTS_TABLE requires ON_ERROR to be set to IGNORE"
        raise OptionError(_invalid_error(message), option.location)
    return _text_value(option)


def _check_no_text(form: str, known: Mapping[str, RawOption]) -> None:
    """Checks that a format without text has no option of texts."""
    if form in {"text", "csv"}:
        return
    for name in ("delimiter", "null", "default"):
        if name in known:
            raise _syntax_error(f"cannot specify {name.upper()} in {form.upper()} mode")


def _check_combinations(options: CopyOptions, known: Mapping[str, RawOption], reading: bool) -> None:
    """Checks combinations of options, in PostgreSQL's order."""
    csv = options.format == "csv"
    _check_delimiter(options)
    if any(map(_has_line_break, options.all_nulls)):
        raise _invalid_error("COPY null representation cannot use newline or carriage return")
    if options.default is not None and _has_line_break(options.default):
        raise _invalid_error("COPY default representation cannot use newline or carriage return")
    if options.format not in {"text", "csv"} and options.header != "none":
        raise FeatureNotSupported(f"cannot specify HEADER in {options.format.upper()} mode")
    for name in ("quote", "escape"):
        if name in known and not csv:
            raise FeatureNotSupported(f"COPY {name} available only in CSV mode")
        if csv and len(getattr(options, name).encode()) != 1:
            raise FeatureNotSupported(f"COPY {name} must be a single one-byte character")
        if csv and name == "quote" and options.delimiter == options.quote:
            raise _invalid_error("COPY delimiter and quote must be different")
    for name, only, allowed in (
        ("force_quote", "COPY TO", not reading),
        ("force_not_null", "COPY FROM", reading),
        ("force_null", "COPY FROM", reading),
    ):
        spoken = name.replace("_", " ")
        if name in known and not csv:
            raise FeatureNotSupported(f"COPY {spoken} available only in CSV mode")
        if name in known and not allowed:
            raise FeatureNotSupported(f"COPY {spoken} only available using {only}")
    if any(options.delimiter in null for null in options.all_nulls):
        raise FeatureNotSupported("COPY delimiter must not appear in the NULL specification")
    if csv and any(options.quote in null for null in options.all_nulls):
        raise FeatureNotSupported("CSV quote character must not appear in the NULL specification")
    if options.default is not None:
        _check_default(options, options.default, reading)


def _check_delimiter(options: CopyOptions) -> None:
    delimiter = options.delimiter
    if len(delimiter.encode()) != 1:
        raise FeatureNotSupported("COPY delimiter must be a single one-byte character")
    if delimiter in "\r\n":
        raise _invalid_error("COPY delimiter cannot be newline or carriage return")
    if options.format != "csv" and delimiter in "\\.abcdefghijklmnopqrstuvwxyz0123456789":
        raise _invalid_error(f'COPY delimiter cannot be "{delimiter}"')


def _check_default(options: CopyOptions, marker: str, reading: bool) -> None:
    if not reading:
        raise FeatureNotSupported("COPY DEFAULT only available using COPY FROM")
    if options.delimiter in marker:
        raise FeatureNotSupported("COPY delimiter must not appear in the DEFAULT specification")
    if options.format == "csv" and options.quote in marker:
        raise FeatureNotSupported("CSV quote character must not appear in the DEFAULT specification")
    if marker == options.null:
        raise FeatureNotSupported("NULL specification and DEFAULT specification cannot be the same")


def _has_line_break(text: str) -> bool:
    return "\n" in text or "\r" in text

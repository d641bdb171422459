from __future__ import annotations

from pathlib import Path

import pytest

from gpudb.config.program import Settings, load
from gpudb.errors import GpudbError


def test_defaults() -> None:
    settings = load()
    assert (settings.host, settings.port, settings.engine) == ("127.0.0.1", 5433, "auto")
    assert settings.memory_limit is None


def test_code_goes_before_variables_and_these_before_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('port = 1\nhost = "::1"\nmemory_limit = "512MB"\n')
    monkeypatch.setenv("GPUDB_PORT", "2")
    assert load(file).port == 2
    assert load(file, port=3).port == 3
    assert load(file, port=None).host == "::1"
    assert load(file).memory_limit == 512 * 2**20
    monkeypatch.setenv("GPUDB_CONFIG", str(file))
    assert load().host == "::1"
    assert Settings().host == "127.0.0.1"


@pytest.mark.parametrize(
    ("text", "bytes_"), [("8GB", 8 * 2**30), ("64kB", 65536), ("1GiB", 2**30), ("1000", 1000), ("2tb", 2**41)]
)
def test_sizes_are_postgresqls(text: str, bytes_: int) -> None:
    assert load(memory_limit=text).memory_limit == bytes_


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("prot = 1", 'there is no setting "prot"'),
        ("port = 70000", "port: "),
        ('engine = "tpu"', "engine: "),
        ('tls_cert = "x"', "tls_cert and tls_key go together"),
        ('cluster_tls_ca = "x"\ncluster_tls_key = "y"', "cluster_tls_cert and cluster_tls_key go together"),
        ('cluster_tls_ca = "x"\ncluster_tls_key = "y"\ncluster_tls_cert = "z"', "go with scheduler"),
        ("cluster_insecure = true", "go with scheduler"),
        ("port = ", "settings cannot be read"),
    ],
)
def test_bad_settings_are_named(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(content)
    with pytest.raises(GpudbError) as caught:
        load(file)
    assert caught.value.sqlstate == "F0000"
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        ("prot = 1", "Perhaps you meant port."),
        ('data-dir = "x"\nmax_conections = 3', "Perhaps you meant data_dir and max_connections."),
        ('log_min_duration_statement = "1s"', "Parameters of sessions, such as work_mem, are set by ALTER SYSTEM."),
        ("port = 70000", None),
    ],
)
def test_unknown_settings_get_the_nearest_name(tmp_path: Path, content: str, hint: str | None) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(content)
    with pytest.raises(GpudbError) as caught:
        load(file)
    assert caught.value.hint == hint

"""GPUDirect Storage: the mode that a setting asks for, on hosts with and without the kernel module."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from gpudb.engine.direct_storage import choose_mode
from gpudb.errors import SqlError


@pytest.mark.parametrize(
    ("setting", "environment", "mode"),
    [
        ("auto", {}, {"KVIKIO_COMPAT_MODE": "AUTO"}),
        ("auto", {"KVIKIO_COMPAT_MODE": "ON"}, {}),
        ("on", {"KVIKIO_COMPAT_MODE": "ON"}, {"KVIKIO_COMPAT_MODE": "OFF"}),
        ("off", {"KVIKIO_COMPAT_MODE": "OFF"}, {"KVIKIO_COMPAT_MODE": "ON"}),
    ],
)
def test_with_the_module(
    tmp_path: Path, setting: Literal["auto", "on", "off"], environment: dict[str, str], mode: dict[str, str]
) -> None:
    (tmp_path / "proc/driver/nvidia-fs").mkdir(parents=True)
    assert choose_mode(setting, environment, tmp_path) == mode


def test_without_the_module(tmp_path: Path) -> None:
    assert choose_mode("auto", {}, tmp_path) == {}
    assert choose_mode("off", {}, tmp_path) == {"KVIKIO_COMPAT_MODE": "ON"}
    with pytest.raises(SqlError, match="nvidia-fs is not loaded") as caught:
        choose_mode("on", {}, tmp_path)
    assert caught.value.sqlstate == "58000"

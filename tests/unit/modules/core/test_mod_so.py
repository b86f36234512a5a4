"""LoadModule of modules of other platforms: refused as httpd 2.4.71 on Linux refuses them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.engine import build_engine

from whimbrel.base.errors import ConfigError


@pytest.mark.parametrize("name", ["isapi", "mpm_winnt", "mpm_netware", "nw_ssl", "mpmt_os2", "privileges"])
def test_modules_of_other_platforms(tmp_path: Path, name: str) -> None:
    file = f"modules/mod_{name}.so"
    reason = "cannot open shared object file: No such file or directory"
    message = f"Cannot load {file} into server: {tmp_path}/{file}: {reason}"
    with pytest.raises(ConfigError) as caught:
        build_engine(tmp_path, f"LoadModule {name}_module {file}")
    assert caught.value.reason == message


@pytest.mark.parametrize(
    "line",
    ["ISAPIFakeAsync On", "Win32DisableAcceptEx", "NWSSLTrustedCerts x", "VHostUser x", "MaxThreads 9"],
)
def test_directives_of_other_platforms(tmp_path: Path, line: str) -> None:
    with pytest.raises(ConfigError) as caught:
        build_engine(tmp_path, line)
    assert caught.value.reason.startswith(
        f"Invalid command '{line.split()[0]}', perhaps misspelled or defined"
    )

"""mod_reqtimeout. Messages are httpd's; defaults are the manual's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.unit.modules.asked import engine

from whimbrel.base.errors import ConfigError
from whimbrel.config.read_limits import ReadLimit
from whimbrel.modules.filters.mod_reqtimeout import limits_of, parse_limit

LOAD = "LoadModule reqtimeout_module modules/mod_reqtimeout.so\n"


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("0", ReadLimit()),
        ("20", ReadLimit(20)),
        ("20-40,MinRate=500", ReadLimit(20, 40, 500)),
        ("10,minrate=1000", ReadLimit(10, 0, 1000)),
    ],
)
def test_limits(text: str, limit: ReadLimit) -> None:
    assert parse_limit(text) == limit


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("30-10", "Must set MinRate option if using timeout range"),
        ("30-10,MinRate=5", "Maximum timeout must be larger than initial timeout"),
        ("10,MinRate=0", "Minimum data rate must be larger than 0"),
        ("10s", "Cannot parse 's'"),
        ("10-20,MinRate=x", "Value 'x' not numerical"),
    ],
)
def test_bad_limits(text: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(reason)):
        parse_limit(text)


@pytest.mark.parametrize(
    ("version", "conf", "header", "body"),
    [
        ("2.4", "", ReadLimit(20, 40, 500), ReadLimit(20, 0, 500)),
        ("2.2", "", ReadLimit(), ReadLimit()),
        ("2.4", "RequestReadTimeout header=10", ReadLimit(10), ReadLimit(20, 0, 500)),
        ("2.4", "RequestReadTimeout body=0", ReadLimit(20, 40, 500), ReadLimit()),
    ],
)
def test_defaults(version: str, conf: str, header: ReadLimit, body: ReadLimit, tmp_path: Path) -> None:
    configuration = engine(tmp_path, LOAD + conf, version=version).configuration
    found = limits_of(configuration, configuration.main)
    assert (found.header, found.body, found.handshake) == (header, body, ReadLimit())


def test_the_old_version_knows_no_handshake(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Unknown RequestReadTimeout parameter"):
        engine(tmp_path, LOAD + "RequestReadTimeout handshake=5", version="2.2")

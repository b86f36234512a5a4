""".htaccess files: admitted directives, messages, and when a file is read again.  Expected texts are the
servers'.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.unit.config.site import Site

from whimbrel.base.dialect import GUIDE, V22, V24
from whimbrel.config.configuration import STREAM_TAGS, Configuration
from whimbrel.config.core_config import CoreDirConfig
from whimbrel.config.htaccess import ABSENT, ALL, HtaccessCache, Override, Parsed, override_of
from whimbrel.directives.spec import Context
from whimbrel.registry.settings import with_defaults

ANY_OPTIONS = 255 & ~16


def said(
    root: Path,
    text: str,
    bits: int = ALL,
    *,
    options: int = ANY_OPTIONS,
    names: frozenset[str] | None = None,
    version: str = "2.4",
) -> Parsed:
    configuration = Site(root, "").load(V22 if version == "2.2" else V24)
    path = root / "htdocs/.htaccess"
    path.write_bytes(text.encode("latin-1"))
    return HtaccessCache(configuration).get(str(path), Override(bits, options, names), configuration.main)


REFUSED: list[tuple[str, int, str]] = [
    ("KeepAlive On\n", ALL, "KeepAlive not allowed here"),
    ("SetEnv A b\n", int(Context.OR_AUTHCFG), "SetEnv not allowed here"),
    ("Include x\n", ALL, "Include not allowed here"),
    ("</Files>\n", ALL, "</Files> without matching <Files> section"),
    ("<Files>\n</Files>\n", ALL, "<Files> directive requires additional arguments"),
    (
        "<Limit BOGUS>\n</Limit>\n",
        ALL,
        "Could not register method 'BOGUS' for <Limit from .htaccess configuration",
    ),
    ("Options Bogus\n", ALL, "Illegal option Bogus"),
    ("<Files x>\n<Directory />\n</Directory>\n</Files>\n", ALL, "<Directory not allowed in <Files> context"),
]


@pytest.mark.parametrize(("text", "bits", "reason"), REFUSED)
def test_refused(tmp_path: Path, text: str, bits: int, reason: str) -> None:
    parsed = said(tmp_path, text, bits)
    assert parsed.layer is None
    assert parsed.error is not None
    assert (parsed.error.log, parsed.error.status) == (f"{tmp_path}/htdocs/.htaccess: {reason}", 500)


def test_options_that_are_not_admitted(tmp_path: Path) -> None:
    parsed = said(tmp_path, "Options FollowSymLinks\n", int(Context.OR_OPTIONS), options=1)
    assert parsed.error is not None
    assert parsed.error.log.endswith(": Option FollowSymLinks not allowed here")


def test_list_of_names_admits(tmp_path: Path) -> None:
    assert said(tmp_path, "SetEnv A b\n", 0, names=frozenset({"setenv"})).layer is not None
    assert said(tmp_path, "SetEnv A b\n", 0, names=frozenset()) is ABSENT


def test_nonfatal_only_warns(tmp_path: Path) -> None:
    both = int(Context.NONFATAL_OVERRIDE | Context.NONFATAL_UNKNOWN)
    parsed = said(tmp_path, "SetEnv A b\nbogus\n", int(Context.OR_AUTHCFG) | both)
    assert parsed.error is None
    assert [(m.code, m.text) for m in parsed.messages] == [
        ("AH02295", "SetEnv in .htaccess forbidden by AllowOverride"),
        (
            "AH02296",
            "Unknown directive bogus perhaps misspelled or defined by a module not included in the server "
            "configuration",
        ),
    ]


@pytest.mark.parametrize(("length", "fine"), [(8191, True), (8192, False)])
def test_long_lines(tmp_path: Path, length: int, fine: bool) -> None:
    """Measured on 2.4.71: 8192 bytes with the line end pass."""
    parsed = said(tmp_path, "SetEnv A " + "x" * (length - 9) + "\n")
    assert (parsed.error is None) is fine
    if parsed.error:
        assert parsed.error.log.endswith(
            "Error reading " + str(tmp_path / "htdocs/.htaccess") + " at line 1: Line too long"
        )


def test_a_folder_in_its_place_is_forbidden(tmp_path: Path) -> None:
    configuration = Site(tmp_path, "").load()
    path = tmp_path / "htdocs/.htaccess"
    path.mkdir()
    parsed = HtaccessCache(configuration).get(str(path), Override(ALL, ANY_OPTIONS), configuration.main)
    assert parsed.error is not None
    assert (parsed.error.status, parsed.error.code) == (403, "AH00529")
    assert [m.code for m in parsed.messages] in ([], ["AH00554"])


def _cached(configuration: Configuration, cache: HtaccessCache, path: Path, bits: int = ALL) -> Parsed:
    return cache.get(str(path), Override(bits, ANY_OPTIONS), configuration.main)


def test_kept_until_the_file_changes(tmp_path: Path) -> None:
    configuration = Site(tmp_path, "").load()
    cache, path = HtaccessCache(configuration), tmp_path / "htdocs/.htaccess"
    assert _cached(configuration, cache, path) is ABSENT
    path.write_text("SetEnv A 1\n")
    first = _cached(configuration, cache, path)
    assert first.layer is not None
    assert _cached(configuration, cache, path) is first
    assert _cached(configuration, cache, path, int(Context.OR_FILEINFO)) is not first
    path.write_text("SetEnv A 2\n")
    os.utime(path, ns=(1, 1))
    assert _cached(configuration, cache, path) is not first
    path.unlink()
    assert _cached(configuration, cache, path) is ABSENT


@pytest.mark.parametrize(
    ("dialect", "text", "said"),
    [
        (V22, "SetEnv A b\n", None),
        (V24, "SetEnv A b\n", "SetEnv not allowed here"),
        (V24, "# only a comment\n", None),
        (GUIDE, "SetEnv A b\n", None),
    ],
)
def test_without_any_allow_override(tmp_path: Path, dialect: object, text: str, said: str | None) -> None:
    configuration = Site(tmp_path, "").load(dialect)  # type: ignore[arg-type]
    (tmp_path / "htdocs/.htaccess").write_text(text)
    override = override_of(configuration, with_defaults(CoreDirConfig()))
    error = (
        HtaccessCache(configuration).get(f"{tmp_path}/htdocs/.htaccess", override, configuration.main).error
    )
    assert (error.log.partition(": ")[2] if error else None) == said


@pytest.mark.parametrize(("text", "noted"), [("SetEnv A b\n", False), ("SetEnvIf H2_Stream_ID . A\n", True)])
def test_a_file_that_looks_at_http2_streams_is_noted(tmp_path: Path, text: str, noted: bool) -> None:
    configuration = Site(tmp_path, "").load()
    (tmp_path / "htdocs/.htaccess").write_text(text)
    HtaccessCache(configuration).get(
        str(tmp_path / "htdocs/.htaccess"), Override(ALL, ANY_OPTIONS, frozenset()), configuration.main
    )
    assert (STREAM_TAGS in configuration.declared_names) == noted

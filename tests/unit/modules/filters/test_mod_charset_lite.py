"""mod_charset_lite.  Expected responses and messages are those of httpd 2.4.71."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.client import decoded_body, error_log, fetch
from tests.support.engine import build_engine

from whimbrel.base.errors import ConfigError
from whimbrel.engine.engine import Engine

LOAD = (
    "LoadModule charset_lite_module modules/mod_charset_lite.so\n"
    "LoadModule reflector_module modules/mod_reflector.so\n"
    "<Location /r>\nSetHandler reflector\n</Location>\n"
)
TO_LATIN = "CharsetSourceEnc utf-8\nCharsetDefault iso-8859-1\n"
BIG = "abc\xc3\xbc\n" * 60_000
FILES = {
    "htdocs/u.txt": "Gr\xc3\xbc\xc3\x9fe\n",
    "htdocs/bad.txt": "ok \xff bad\n",
    "htdocs/half.txt": "abc \xc3",
    "htdocs/i.png": "\xc3\xbc",
    "htdocs/e.txt": "",
    "htdocs/big.txt": BIG,
    "htdocs/bigbad.txt": BIG + "\xff",
}


def engine(root: Path, conf: str, version: str = "2.4") -> Engine:
    """An engine with the files."""
    return build_engine(root, LOAD + conf if version == "2.4" else conf, FILES, version)


def test_texts_are_converted_in_chunks(tmp_path: Path) -> None:
    served = engine(tmp_path, TO_LATIN)
    reply = fetch(served, "/u.txt")
    assert (decoded_body(reply), reply.get("Content-Length")) == ("Gr\xfc\xdfe\n", None)
    assert fetch(served, "/e.txt").get("Content-Length") == "0"
    assert fetch(served, "/i.png").body == "\xc3\xbc"
    assert decoded_body(fetch(served, "/big.txt")) == "abc\xfc\n" * 60_000


def test_all_media_types(tmp_path: Path) -> None:
    served = engine(tmp_path, TO_LATIN + "CharsetOptions TranslateAllMimeTypes")
    assert decoded_body(fetch(served, "/i.png")) == "\xfc"


def test_invalid_and_incomplete_characters(tmp_path: Path) -> None:
    served = engine(tmp_path, TO_LATIN)
    assert [fetch(served, path).status for path in ("/bad.txt", "/half.txt")] == [500, 500]
    log = error_log(served)
    assert "(22)Invalid argument: [client 127.0.0.1:50000] AH02997: AH02198: xlate filter - returning" in log
    assert "AH02997: AH02196: xlate filter - incomplete char at end of input - c3" in log


def test_an_invalid_character_behind_the_head_truncates(tmp_path: Path) -> None:
    reply = fetch(engine(tmp_path, TO_LATIN), "/bigbad.txt")
    assert reply.status == 200
    assert not reply.body.endswith("0\r\n\r\n")


def test_2_2_logs_without_numbers(tmp_path: Path) -> None:
    load = "LoadModule charset_lite_module modules/mod_charset_lite.so\n"
    served = engine(tmp_path, load + TO_LATIN, "2.2")
    assert fetch(served, "/bad.txt").status == 500
    assert "[client 127.0.0.1] (22)Invalid argument: xlate filter - returning error" in error_log(served)


def test_unknown_character_sets(tmp_path: Path) -> None:
    served = engine(tmp_path, "CharsetSourceEnc nonsense\nCharsetDefault utf-8\n")
    assert fetch(served, "/u.txt").body == FILES["htdocs/u.txt"]
    assert fetch(served, "/r", method="POST", body="a").status == 500
    log = error_log(served)
    assert "AH01453: can't open translation nonsense->utf-8" in log
    assert "AH01449: can't open translation utf-8->nonsense" in log


def test_sets_of_one_byte_keep_the_length(tmp_path: Path) -> None:
    served = engine(tmp_path, "CharsetSourceEnc iso-8859-1\nCharsetDefault IBM1047\n")
    reply = fetch(served, "/half.txt")
    assert (reply.body, reply.get("Content-Length")) == ("\x81\x82\x83@f", "5")


def test_filters_are_added_once(tmp_path: Path) -> None:
    served = engine(tmp_path / "both", TO_LATIN + "SetOutputFilter XLATEOUT")
    assert decoded_body(fetch(served, "/u.txt")) == "Gr\xfc\xdfe\n"
    served = engine(tmp_path / "none", TO_LATIN + "CharsetOptions NoImplicitAdd")
    assert fetch(served, "/u.txt").body == FILES["htdocs/u.txt"]


def test_bodies_of_requests(tmp_path: Path) -> None:
    served = engine(tmp_path, "CharsetSourceEnc iso-8859-1\nCharsetDefault utf-8\n")
    assert decoded_body(fetch(served, "/r", method="POST", body="a\xc3\xbcb")) == "a\xfcb"
    for body in ("a\xff", "a\xc3"):
        assert fetch(served, "/r", method="POST", body=body).status == 400
    assert "xlate filter - incomplete char at end of input - c3" in error_log(served)


def test_an_incomplete_configuration_is_logged(tmp_path: Path) -> None:
    served = engine(tmp_path, "LogLevel charset_lite:debug\nCharsetSourceEnc utf-8\n")
    assert fetch(served, "/u.txt").get("Content-Length") == "8"
    assert "AH01448: incomplete configuration: src utf-8, dst unspecified" in error_log(served)


@pytest.mark.parametrize("option", ["DebugLevel=1", "Bogus"])
def test_unknown_options(tmp_path: Path, option: str) -> None:
    with pytest.raises(ConfigError, match=f"Invalid CharsetOptions option: {option}"):
        engine(tmp_path, f"CharsetOptions {option}")

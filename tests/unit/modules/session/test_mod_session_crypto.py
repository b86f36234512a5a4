"""Settings of encrypted sessions, and cookies that were not encrypted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.access_site import MODULES, AccessSite, session_fields

from whimbrel.base.errors import ConfigError, StartError
from whimbrel.modules.session import mod_session_crypto
from whimbrel.modules.session.mod_session_crypto import SessionCryptoDirConfig

LOADED = MODULES["2.4"] + " session session_cookie session_crypto"
CONF = "Session On\nSessionCookieName sess\nSessionMaxAge 60\n"


class Reversed:
    """A fake cipher: the encrypted text is `!` and the reversed text, under the passphrase's first letter."""

    @staticmethod
    def seal(text: bytes, passphrase: str, _cipher: str) -> str:
        return passphrase[0] + "!" + text.decode("latin-1")[::-1]

    @staticmethod
    def unseal(value: str, passphrases: list[str], _cipher: str) -> bytes:
        for passphrase in passphrases:
            if value.startswith(passphrase[0] + "!"):
                return value[2:][::-1].encode("latin-1")
        raise ValueError


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mod_session_crypto, "library", lambda: Reversed)


def site_of(root: Path, conf: str) -> AccessSite:
    (root / "conf").mkdir()
    (root / "conf/pp").write_text("# comment\nfirst line\n\n  second\n")
    (root / "conf/pp.sh").write_text("#!/bin/sh\necho sekret\necho more\n")
    (root / "conf/pp.sh").chmod(0o755)
    return AccessSite(root, CONF + conf.replace("@", str(root)), "2.4", LOADED)


@pytest.mark.parametrize(
    ("conf", "passphrases"),
    [
        ("SessionCryptoPassphrase a b\nSessionCryptoPassphrase c\n", ["a", "b", "c"]),
        ("SessionCryptoPassphraseFile conf/pp\n", ["first", "line", "second"]),
        ("SessionCryptoPassphrase exec:@/conf/pp.sh\n", ["sekret"]),
    ],
)
def test_passphrases(tmp_path: Path, stand_in: None, conf: str, passphrases: list[str]) -> None:
    site = site_of(tmp_path, conf)
    assert (
        site.engine.plans.root(site.engine.main).dir_config(SessionCryptoDirConfig).passphrases == passphrases
    )


def test_a_session_goes_out_sealed_and_comes_back(tmp_path: Path, stand_in: None) -> None:
    site = site_of(tmp_path, "SessionCryptoPassphrase new old\n")
    answer = site.fetch(headers="Cookie: sess=o!b=a\r\n")
    sent = session_fields(answer, "Set-Cookie")[0].partition(";")[0]
    assert sent.startswith("sess=n!") and sent.endswith("&b=a")


@pytest.mark.parametrize("cookie", ["a=b", "x!b=a"])
def test_what_nobody_sealed_is_no_session(tmp_path: Path, stand_in: None, cookie: str) -> None:
    site = site_of(tmp_path, "SessionCryptoPassphrase new\n")
    answer = site.fetch(headers=f"Cookie: sess={cookie}\r\n")
    assert "b=a" not in session_fields(answer, "Set-Cookie")[0]
    assert site.codes() == ["AH01842", "AH01817"] * 2


def test_an_unknown_cipher_saves_nothing(tmp_path: Path, stand_in: None) -> None:
    site = site_of(tmp_path, "SessionCryptoPassphrase new\nSessionCryptoCipher nope\n")
    assert (session_fields(site.fetch(), "Set-Cookie"), site.codes()) == ([], ["AH01824", "AH01820"])


@pytest.mark.parametrize(
    ("conf", "message"),
    [
        (
            "SessionCryptoPassphraseFile /none/here\n",
            "SessionCryptoPassphraseFile: Could not open file /none/here: No such file or directory",
        ),
        ("<Directory />\nSessionCryptoDriver openssl\n</Directory>\n", "SessionCryptoDriver not allowed"),
    ],
)
def test_lines_that_are_refused(tmp_path: Path, stand_in: None, conf: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        site_of(tmp_path, conf)


@pytest.mark.parametrize(
    ("conf", "library"),
    [
        ("SessionCryptoPassphrase x\n", False),
        ("SessionCryptoDriver openssl\n", False),
        ("SessionCryptoDriver nope\n", True),
    ],
)
def test_no_start_without_ciphers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, conf: str, library: bool
) -> None:
    def none() -> Any:
        raise ImportError

    monkeypatch.setattr(mod_session_crypto, "library", (lambda: Reversed) if library else none)
    with pytest.raises(StartError, match="AH01845"):
        site_of(tmp_path, conf)


@pytest.mark.parametrize("program", ["/none/here", "/bin/false", "echo x"])
def test_a_program_that_prints_nothing_gives_an_empty_passphrase(
    tmp_path: Path, stand_in: None, program: str
) -> None:
    """Asked of apache2: the line is accepted; a program without path is not searched."""
    assert site_of(tmp_path, f"SessionCryptoPassphrase 'exec:{program}'\n") is not None

"""Settings of encrypted sessions, and cookies that were not encrypted."""

from __future__ import annotations

import re
from pathlib import Path
from unittest.mock import create_autospec

import pytest
from tests.support.access_site import MODULES, AccessSite, session_fields

from whimbrel.base.errors import ConfigError, StartError
from whimbrel.modules.session import mod_session_crypto
from whimbrel.modules.session.mod_session_crypto import SessionCryptoDirConfig, has_ciphers
from whimbrel.modules.session.session_cipher import SIZES, CipherError, decrypt, encrypt

LOADED = MODULES["2.4"] + " session session_cookie session_crypto"
CONF = "Session On\nSessionCookieName sess\nSessionMaxAge 60\n"
NEEDED = pytest.mark.skipif(not has_ciphers(), reason="the extra session-crypto is not installed")


def site_of(root: Path, conf: str) -> AccessSite:
    (root / "conf").mkdir()
    (root / "conf/pp").write_text("# comment\nfirst line\n\n  second\n")
    (root / "conf/pp.sh").write_text("#!/bin/sh\necho sekret\necho more\n")
    (root / "conf/pp.sh").chmod(0o755)
    return AccessSite(root, CONF + conf.replace("@", str(root)), "2.4", LOADED)


@NEEDED
@pytest.mark.parametrize(
    ("conf", "passphrases"),
    [
        ("SessionCryptoPassphrase a b\nSessionCryptoPassphrase c\n", ["a", "b", "c"]),
        ("SessionCryptoPassphraseFile conf/pp\n", ["first", "line", "second"]),
        ("SessionCryptoPassphrase exec:@/conf/pp.sh\n", ["sekret"]),
    ],
)
def test_passphrases(tmp_path: Path, conf: str, passphrases: list[str]) -> None:
    site = site_of(tmp_path, conf)
    assert (
        site.engine.plans.root(site.engine.main).dir_config(SessionCryptoDirConfig).passphrases == passphrases
    )


@NEEDED
@pytest.mark.parametrize("cipher", SIZES)
def test_a_session_goes_out_encrypted_and_comes_back(tmp_path: Path, cipher: str) -> None:
    site = site_of(tmp_path, f"SessionCryptoPassphrase new old\nSessionCryptoCipher {cipher}\n")
    answer = site.fetch(headers=f"Cookie: sess={encrypt(b'b=a', 'old', cipher)}\r\n")
    sent = re.findall(r"^Set-Cookie: sess=([^;]*);", answer, re.MULTILINE)[0]
    text = decrypt(sent, ["new"], cipher)
    assert site.codes() == []
    assert re.fullmatch(rb"(b=a|expiry=\d+)&(b=a|expiry=\d+)", text)


@NEEDED
@pytest.mark.parametrize("cookie", ["a=b", "x!b=a", "another passphrase"])
def test_other_text_is_no_session(tmp_path: Path, cookie: str) -> None:
    if cookie == "another passphrase":
        cookie = encrypt(b"b=a", "other", "aes256")
    site = site_of(tmp_path, "SessionCryptoPassphrase new\n")
    answer = site.fetch(headers=f"Cookie: sess={cookie}\r\n")
    sent = re.findall(r"^Set-Cookie: sess=([^;]*);", answer, re.MULTILINE)[0]
    assert b"b=a" not in decrypt(sent, ["new"], "aes256")
    assert site.codes() == ["AH01842", "AH01817"] * 2


@NEEDED
def test_a_library_without_the_cipher_saves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = create_autospec(encrypt, side_effect=CipherError("no such cipher"))
    monkeypatch.setattr(mod_session_crypto, "encrypt", refused)
    site = site_of(tmp_path, "SessionCryptoPassphrase new\n")
    assert (session_fields(site.fetch(), "Set-Cookie"), site.codes()) == ([], ["AH01841", "AH01820"])


@NEEDED
def test_an_unknown_cipher_saves_nothing(tmp_path: Path) -> None:
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
def test_lines_that_are_refused(tmp_path: Path, conf: str, message: str) -> None:
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
    monkeypatch.setattr(mod_session_crypto, "has_ciphers", create_autospec(has_ciphers, return_value=library))
    with pytest.raises(StartError, match="AH01845"):
        site_of(tmp_path, conf)


@NEEDED
@pytest.mark.parametrize("program", ["/none/here", "/bin/false", "echo x"])
def test_a_program_that_prints_nothing_gives_an_empty_passphrase(tmp_path: Path, program: str) -> None:
    """Asked of apache2: the line is accepted; a program without path is not searched."""
    assert site_of(tmp_path, f"SessionCryptoPassphrase 'exec:{program}'\n") is not None

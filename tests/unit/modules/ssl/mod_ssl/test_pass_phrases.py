"""Pass phrases of keys: programs, pipes and the terminal."""

from __future__ import annotations

import asyncio
import io
import sys
from pathlib import Path

import pytest

pytest.importorskip("cryptography", reason="the optional package cryptography is not installed")

from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat
from tests.support.tls import text_of
from tests.support.tls_clients import ONE_HOST, TlsClient, TlsServerSite

from whimbrel.base.errors import PostConfigError
from whimbrel.modules.ssl.mod_ssl.key_files import EncryptedKey, NoKey, private_key
from whimbrel.modules.ssl.mod_ssl.pass_phrases import PassPhrases
from whimbrel.modules.ssl.mod_ssl.settings import PassPhraseDialog


@pytest.fixture
def phrases() -> PassPhrases:
    return PassPhrases("Server/1 mod_ssl")


def program(root: Path, text: str) -> str:
    """Write a shell script; return its path."""
    file = root / "p"
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return str(file)


@pytest.mark.parametrize(("index", "kind"), [(0, "RSA"), (2, "ECC"), (3, "3")])
def test_program_for_each_key(tmp_path: Path, phrases: PassPhrases, index: int, kind: str) -> None:
    dialog = PassPhraseDialog("exec", program(tmp_path, 'echo "$1/$2"'))
    assert phrases.obtain(dialog, "a:443", index, "k") == f"a:443/{kind}"


def test_pipe_lives_for_all_keys(tmp_path: Path, phrases: PassPhrases) -> None:
    dialog = PassPhraseDialog("pipe", program(tmp_path, 'while read a && read b; do echo "$a $$"; done'))
    first, second = (phrases.obtain(dialog, "a:443", number, "k") for number in (0, 1))
    assert first is not None and second is not None
    assert first.startswith("Private key a:443:0 (k) ") and first.split()[-1] == second.split()[-1]
    phrases.end()


def test_program_that_fails_gives_no_phrase(phrases: PassPhrases) -> None:
    for kind in ("exec", "pipe"):
        assert phrases.obtain(PassPhraseDialog(kind, "/nonexistent"), "a:443", 0, "k") is None


def test_terminal_without_input(
    phrases: PassPhrases, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.open", lambda *_: (_ for _ in ()).throw(OSError()))
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    assert phrases.obtain(PassPhraseDialog(), "a:443", 0, "k") is None
    phrases.failed()
    assert capsys.readouterr().out.endswith("Apache:mod_ssl:Error: Private key not found.\n**Stopped\n")


def test_encrypted_keys_are_recognized() -> None:
    with pytest.raises(EncryptedKey):
        private_key(text_of(81, "conf/enc.key").encode())
    with pytest.raises(EncryptedKey):
        private_key(text_of(81, "conf/enc.key").encode(), "wrong phrase")
    with pytest.raises(NoKey):
        private_key(text_of(81, "conf/a.crt").encode())


def encrypted(root: Path, form: PrivateFormat, phrase: bytes = b"secret") -> None:
    """Write the key of ONE_HOST, encrypted."""
    key = private_key(text_of(178, "conf/lo.key").encode())
    (root / "conf").mkdir(exist_ok=True)
    text = key.private_bytes(Encoding.PEM, form, BestAvailableEncryption(phrase))
    assert b"ENCRYPTED" in text
    (root / "conf/enc.key").write_bytes(text)


CONF = "SSLPassPhraseDialog {}:{}\n" + ONE_HOST.replace("lo.key", "enc.key").replace("@MORE@", "")
FORMS = pytest.mark.parametrize("form", [PrivateFormat.TraditionalOpenSSL, PrivateFormat.PKCS8])


@FORMS
@pytest.mark.parametrize(
    ("kind", "script"), [("exec", "echo secret"), ("|", "while read a && read b; do echo secret; done")]
)
def test_a_server_with_an_encrypted_key_answers(
    tmp_path: Path, form: PrivateFormat, kind: str, script: str
) -> None:
    encrypted(tmp_path, form)
    conf = CONF.format(kind, program(tmp_path, script)).replace("|:", "|")
    server = TlsServerSite(tmp_path, conf)

    async def run() -> bytes:
        client = TlsClient(server.service(), root=tmp_path)
        client.handshake()
        return await client.get("/f.html")

    assert asyncio.run(run()).endswith(b"page\n")


@FORMS
@pytest.mark.parametrize("script", ["echo other", "exit 1", "true"])
def test_a_server_without_the_phrase_does_not_start(
    tmp_path: Path, form: PrivateFormat, script: str, capsys: pytest.CaptureFixture[str]
) -> None:
    encrypted(tmp_path, form)
    with pytest.raises(PostConfigError):
        TlsServerSite(tmp_path, CONF.format("exec", program(tmp_path, script)))


@FORMS
@pytest.mark.parametrize("phrase", ["secret", "\xe4\xf6", "with blanks"])
def test_each_form_is_decrypted_by_its_phrase_alone(tmp_path: Path, form: PrivateFormat, phrase: str) -> None:
    encrypted(tmp_path, form, phrase.encode("latin-1"))
    data = (tmp_path / "conf/enc.key").read_bytes()
    plain = private_key(text_of(178, "conf/lo.key").encode())
    assert private_key(data, phrase).private_numbers() == plain.private_numbers()  # type: ignore[union-attr]
    for wrong in (None, "", phrase + "x"):
        with pytest.raises(EncryptedKey):
            private_key(data, wrong)

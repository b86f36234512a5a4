"""Pass phrases of keys: programs, pipes and the terminal."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

pytest.importorskip("cryptography", reason="the optional package cryptography is not installed")

from tests.support.tls import text_of

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

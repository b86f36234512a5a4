"""mod_session_crypto (2.4): sessions encrypted before they are stored, compatible with httpd's.

The first passphrase encrypts, each of them decrypts. Needs the `cryptography` package (extra "session-
crypto"); a configuration that enables encryption does not start without it.
"""

from __future__ import annotations

import subprocess
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from whimbrel.base.errors import ConfigError, PostConfigError
from whimbrel.base.file_reading import read_regular
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import BLANKS, strip
from whimbrel.base.programs import may_start_programs
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Versions
from whimbrel.directives.tokens import words as split_words
from whimbrel.engine.log.error_log_line import module_log
from whimbrel.modules.session.mod_session import SessionCodec, SessionError
from whimbrel.modules.session.session_cipher import CipherError, decrypt, encrypt
from whimbrel.modules.support.programs_not_run import NOT_RUN, note_program
from whimbrel.modules.support.setters import set_text
from whimbrel.registry.module import Module, Provider
from whimbrel.registry.settings import UNSET, setting

if TYPE_CHECKING:
    from whimbrel.config.configuration import Configuration
    from whimbrel.engine.request import Request

_MODULE = "session_crypto"
_log = module_log(_MODULE)
_CIPHERS: Final = ("aes128", "aes192", "aes256", "3des192")
_BAD_CIPHER: Final = "(20014)Internal error (specific information not available)"
_BAD_DATA: Final = "(100005)Error string not specified yet"
_PROGRAM_TIMEOUT: Final = 30.0  # seconds for a program to print its passphrase


@dataclass(slots=True)
class SessionCryptoDirConfig:
    """Per-directory settings; without a passphrase nothing is encrypted."""

    passphrases: list[str] = setting(make=list)
    cipher: str = setting("aes256")


@dataclass(slots=True)
class SessionCryptoServerConfig:
    """The main server's driver; is a passphrase configured anywhere."""

    driver: str = setting("")
    wanted: bool = setting(False)


def has_ciphers() -> bool:
    """Return True if the `cryptography` package is installed."""
    return find_spec("cryptography") is not None


def _conf(r: Request, cause: str) -> SessionCryptoDirConfig | None:
    """Return the settings; None without encryption.  Raises SessionError, logged, if the cipher is
    unknown.
    """
    conf = r.dir_config(SessionCryptoDirConfig)
    if not conf.passphrases:
        return None
    if conf.cipher not in _CIPHERS:
        line = (
            f"cipher '{conf.cipher}' not recognised by crypto driver. session {cause} not possible, "
            f"options: {', '.join(_CIPHERS)}"
        )
        _log(r, "error", "AH01824" if cause == "encryption" else "AH01834", line)
        raise SessionError(_BAD_CIPHER)
    return conf


def encrypt_session(r: Request, plain: str) -> str:
    """Return the encrypted text; "" stays ""."""
    conf = _conf(r, "encryption") if plain else None
    if conf is None:
        return plain
    try:
        return encrypt(to_bytes(plain), conf.passphrases[0], conf.cipher)
    except CipherError:
        _log(r, "error", "AH01841", "encrypt session failed", _BAD_CIPHER)
    raise SessionError(_BAD_CIPHER)


def decrypt_session(r: Request, sealed: str) -> str:
    """Return the decrypted text; raises SessionError, logged, if no passphrase decrypts it."""
    conf = _conf(r, "decryption") if sealed else None
    if conf is None:
        return sealed
    try:
        return to_text(decrypt(sealed, conf.passphrases, conf.cipher))
    except CipherError as problem:
        if problem.is_tried:
            r.log("info", "decryption failed", code="AH01840", module=_MODULE, cause=_BAD_DATA)
        _log(r, "error", "AH01842", "decrypt session failed, wrong passphrase?", _BAD_DATA)
    raise SessionError(_BAD_DATA)


# directives ---------------------------------------------------------------------------------------
def _add(cmd: Command, record: SessionCryptoDirConfig, passphrases: list[str]) -> None:
    record.passphrases = [*([] if record.passphrases is UNSET else record.passphrases), *passphrases]
    if not cmd.in_htaccess:
        cmd.main_server(SessionCryptoServerConfig).wanted = True


def add_passphrase(cmd: Command, record: SessionCryptoDirConfig, words: list[str]) -> None:
    """SessionCryptoPassphrase TEXT, or exec:PROGRAM, which prints it."""
    word = words[0]
    if len(word) > 5 and word.lower().startswith("exec:"):
        word = _printed(cmd, word[5:])
    _add(cmd, record, [word])


def _printed(cmd: Command, line: str) -> str:
    """Return the first line that a program prints; "" if it cannot be run, or has no path."""
    argv = [to_bytes(word) for word in split_words(line)]
    if not argv or b"/" not in argv[0]:
        return ""
    if not may_start_programs():
        note_program(cmd, to_text(argv[0]))
        return NOT_RUN
    try:
        completed = subprocess.run(
            argv, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=_PROGRAM_TIMEOUT, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return to_text(completed.stdout).partition("\n")[0].rstrip("\r")


def add_file(cmd: Command, record: SessionCryptoDirConfig, words: list[str]) -> None:
    """SessionCryptoPassphraseFile: each word of each line; lines that begin with ``#`` are comments."""
    path = cmd.server_path(words[0])
    try:
        lines = to_text(read_regular(to_bytes(path))).split("\n")
    except OSError as problem:
        raise ConfigError(
            f"SessionCryptoPassphraseFile: Could not open file {path}: {problem.strerror}"
        ) from None
    _add(
        cmd,
        record,
        [
            word
            for line in lines
            if not line.lstrip(BLANKS).startswith("#")
            for word in split_words(strip(line))
        ],
    )


def set_driver(_cmd: Command, record: SessionCryptoServerConfig, words: list[str]) -> None:
    """SessionCryptoDriver NAME and the driver's arguments."""
    record.driver = next(iter(split_words(words[0])), "")


def check_driver(finished: Configuration) -> None:
    """Check that encryption has a driver: OpenSSL through the `cryptography` package."""
    main = next(iter(finished.servers())).config(SessionCryptoServerConfig)
    if main.driver and main.driver != "openssl":
        raise PostConfigError(
            "session_crypto",
            ("error", f"AH01845: The crypto library '{main.driver}' could not be loaded"),
            repeat_in_log=True,
        )
    if not (main.driver or main.wanted):
        return
    if not has_ciphers():
        from whimbrel.base.extras import not_installed

        text = (
            "AH01845: The crypto library 'openssl' could not be loaded: "
            f"{not_installed('SessionCryptoPassphrase', 'session-crypto')}"
        )
        raise PostConfigError("session_crypto", ("error", text), repeat_in_log=True)


MODULE = Module(
    name="session_crypto_module",
    source="mod_session_crypto.c",
    versions=Versions.V24,
    dir_config=SessionCryptoDirConfig,
    server_config=SessionCryptoServerConfig,
    dir_setters={
        "SessionCryptoPassphrase": add_passphrase,
        "SessionCryptoPassphraseFile": add_file,
        "SessionCryptoCipher": set_text("cipher"),
    },
    server_setters={
        "SessionCryptoDriver": set_driver,
    },
    providers=(Provider("session_seal", "crypto", SessionCodec(encrypt_session, decrypt_session)),),
    post_config=(check_driver,),
)

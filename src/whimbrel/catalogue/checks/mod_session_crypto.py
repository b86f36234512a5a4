"""mod_session_crypto's argument rules."""

from __future__ import annotations

import os

from whimbrel.catalogue.checks.rules import Around, Rule
from whimbrel.octets import raw


def _file(words: list[str], around: Around) -> str | None:
    path = around.path(words[0])
    return None if os.path.exists(raw(path)) else f"SessionCryptoPassphraseFile: Could not open file {path}: No such file or directory"


CHECKS: dict[str, Rule] = {"sessioncryptopassphrasefile": _file}

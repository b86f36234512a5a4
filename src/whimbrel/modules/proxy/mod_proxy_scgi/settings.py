"""Settings of mod_proxy_scgi, and their setters."""

from __future__ import annotations

from collections.abc import Callable

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import lower
from whimbrel.directives.command import Command
from whimbrel.registry.settings import setting


@dataclass(slots=True)
class ScgiDirConfig:
    """Per-directory settings: names of response fields, "" for Off.

    Attributes:
        sendfile: the field that names a file to send in place of the answer.
        redirect: the field that names a path to serve in place of the answer.
    """

    sendfile: str = setting("")
    redirect: str = setting("Location")


def set_field(name: str, default: str) -> Callable[[Command, ScgiDirConfig, list[str]], None]:
    """Return the setter of a field's name, for which On means *default*."""

    def apply(_cmd: Command, conf: ScgiDirConfig, words: list[str]) -> None:
        word = lower(words[0])
        setattr(conf, name, {"off": "", "on": default}.get(word, words[0]))

    return apply

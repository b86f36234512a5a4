"""Stand-in until config/htaccess."""

from __future__ import annotations

from typing import Any


class HtaccessRefused(Exception):
    """A .htaccess file that stops its folder."""

    def __init__(self, status: int, level: str, text: str, code: str) -> None:
        super().__init__(text)
        self.status, self.level, self.text, self.code = status, level, text, code


class Htaccess:
    """The .htaccess files of one engine."""

    def __init__(self, configuration: Any, world: Any) -> None:
        pass

    def layer(self, r: Any, folder: str) -> Any:
        return None

"""The one exception for invalid command lines.  Imports nothing: `whimbrel-httpd -v` starts with it."""

from __future__ import annotations


class UsageError(Exception):
    """Invalid command line.  *message* stands without the program's name; "" means: print the usage text only."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message)
        self.message = message

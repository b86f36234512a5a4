"""The one exception for invalid command lines.  Imports nothing: `whimbrel-httpd -v` starts with it."""

from __future__ import annotations


class UsageError(Exception):
    """Invalid command line.  *message* excludes the program's name; "" prints the usage text only."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message)
        self.message = message

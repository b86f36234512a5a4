"""Exceptions of the public API."""

from __future__ import annotations


class ConfigurationError(Exception):
    """A configuration that cannot be read, or that httpd refuses.

    Attributes:
        path: the file; `line`: from 1, 0 for the whole file.
        message: httpd's message, or the reason why the file cannot be read.
    """

    def __init__(self, path: str, line: int, message: str) -> None:
        super().__init__(path, line, message)
        self.path = path
        self.line = line
        self.message = message

    def __str__(self) -> str:
        if self.path in self.message:
            return self.message
        return f"{self.path}:{self.line}: {self.message}" if self.line else f"{self.path}: {self.message}"


class RequestError(ValueError):
    """Values that do not describe a request: a URL with blanks, a header field with a line end."""

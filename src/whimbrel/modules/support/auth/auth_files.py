"""Password and group files, parsed again when their stat signature changes; it is checked on each request.

A file object belongs to the directive that names it, so it lives as long as its configuration.  Manual:
mod/mod_authn_file.html, mod/mod_authz_groupfile.html.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from stat import S_ISREG

from whimbrel.base.dialect import Dialect
from whimbrel.base.errors import ConfigError
from whimbrel.base.file_reading import read_regular
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.static_typing import TYPE_CHECKING, Any, Final, Generic, TypeVar
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Setter
from whimbrel.directives.tokens import getword
from whimbrel.engine.deps.files import StatSignature, is_settled_file, stat_signature
from whimbrel.engine.log.error_log_line import LogLine

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

T = TypeVar("T")
_BLANKS: Final = " \t\n\v\f\r"
_MAX_LINE: Final = 8190  # MAX_STRING_LEN less the line end
_MAX_USERS: Final = 4096  # users whose groups are cached
_BAD_FILE: Final = 9  # EBADF: the errno that httpd logs for a file that is not regular


class Unreadable(Exception):
    """The file cannot be opened; *errno* holds the reason."""

    def __init__(self, errno: int) -> None:
        super().__init__(os.strerror(errno))
        self.errno = errno

    @property
    def cause(self) -> str:
        """The system's reason, as a line of the error log shows it."""
        return f"({self.errno}){os.strerror(self.errno)}"


class AuthFile(Generic[T]):
    """A file at *path* and the value that *parse* returns for its text."""

    def __init__(self, path: str, parse: Callable[[str], T]) -> None:
        self.path = path
        self._parse = parse
        self._mark: StatSignature = None
        self._content: T | None = None

    def content(self, r: Request) -> T:
        """Return the current parsed content; raises Unreadable."""
        info = r.deps.stat(self.path)
        if info is None:
            raise Unreadable(r.deps.errno or 2)
        seen = stat_signature(info)
        if self._content is not None and seen == self._mark:
            return self._content
        if not _may_be_read(info, self.path):
            r.set_uncacheable()
            line = LogLine(
                "error", f"Access to file {self.path} denied by server: not a regular file", "AH00554"
            )
            r.engine.error_log.about_server(r.server, line)
            raise Unreadable(_BAD_FILE)
        is_lasting = is_settled_file(info)
        try:
            data = read_regular(to_bytes(r.deps.on_disk(self.path)))
        except OSError as problem:
            r.set_uncacheable()
            raise Unreadable(problem.errno or _BAD_FILE) from None
        self._content, self._mark = self._parse(to_text(data)), seen if is_lasting else None
        return self._content


def _may_be_read(info: os.stat_result, path: str) -> bool:
    return S_ISREG(info.st_mode) or path == "/dev/null"


def config_lines(content: str, *, longest: int, continued: bool) -> Iterator[str]:
    """Yield the lines of httpd's ap_cfg_getline: trimmed, joined at a trailing backslash, without comments
    and empty lines.

    *longest* 0 means no limit.  With *continued* (2.4) a line that is too long ends the file; without (2.2)
    it is split.
    """
    for line in _joined(content):
        for piece in _pieces(line, longest, continued):
            if piece is None:
                return
            piece = piece.strip(_BLANKS)
            if piece and piece[0] != "#":
                yield piece


def _joined(content: str) -> Iterator[str]:
    pending = ""
    lines = content.split("\n")
    for index, line in enumerate(lines):
        line = line.partition("\0")[0]
        bare = line.removesuffix("\r")
        if bare.endswith("\\") and index < len(lines) - 1:
            pending += bare[:-1]
            continue
        yield pending + line
        pending = ""
    if pending:
        yield pending


def _pieces(line: str, longest: int, continued: bool) -> Iterator[str | None]:
    if not longest or len(line) <= longest:
        yield line
    elif continued:
        yield None
    else:
        for start in range(0, len(line), longest):
            yield line[start : start + longest]


def getword_at(line: str, stop: str) -> tuple[str, str]:
    """Split at *stop* as ap_getword: return the text before and after; adjacent stops are one."""
    word, _, rest = line.partition(stop)
    return word, rest.lstrip(stop)


class Verifier:
    """Verifier of passwords against stored ones.

    Cache: key is a keyed digest of a verified password; an entry is valid for the lifetime of this object.
    """

    def __init__(self) -> None:
        self._key = os.urandom(32)
        self._right: dict[str, tuple[bytes, str]] = {}

    def _digest(self, user: str, password: str) -> bytes:
        from hashlib import blake2b  # it loads all of OpenSSL, which a configuration check does not need

        return blake2b(to_bytes(f"{len(user)}:{user}:{password}"), key=self._key, digest_size=32).digest()

    async def verify(self, r: Request, user: str, password: str, stored: str) -> bool:
        """Return True if *password* of *user* matches *stored*."""
        from whimbrel.modules.support.auth.passwords import is_cheap, verify

        known = (self._digest(user, password), stored)
        if self._right.get(user) == known:
            return True
        good = (
            verify(password, stored)
            if is_cheap(stored)
            else await r.engine.runtime.check_password(verify, password, stored)
        )
        if good:
            self._right[user] = known
        return good


class Passwords:
    """The entries of a password file: user to stored password, and realm hashes of digest files."""

    def __init__(self, content: str, *, continued: bool) -> None:
        self.stored: dict[str, str] = {}
        self.realms: dict[tuple[str, str], str] = {}
        self._verifier = Verifier()
        for line in config_lines(content, longest=_MAX_LINE, continued=continued):
            user, rest = getword_at(line, ":")
            second, rest = getword_at(rest, ":")
            self.stored.setdefault(user, second)
            self.realms.setdefault((user, second), getword_at(rest, ":")[0])

    async def right(self, r: Request, user: str, password: str) -> bool:
        """Return True if *password* is that of *user*, who must have an entry."""
        return await self._verifier.verify(r, user, password, self.stored[user])


def set_standard_file(read: Callable[[str, Dialect], AuthFile[Any]]) -> Setter:
    """Return the setter of AuthUserFile or AuthGroupFile: a path, and perhaps ``standard``."""

    def apply(cmd: Command, record: Any, words: list[str]) -> None:
        if len(words) > 1 and words[1] != "standard":
            raise ConfigError(f"Invalid auth file type: {words[1]}")
        record.file = read(cmd.server_path(words[0]), cmd.dialect)

    return apply


def password_file(path: str, dialect: Dialect) -> AuthFile[Passwords]:
    """Return the password file at *path*."""
    return AuthFile(path, lambda content: Passwords(content, continued=dialect.overlong_line_is_eof))


class Groups:
    """The groups of a file's users, in lower case: httpd compares them case-insensitively.

    Only lines that contain a user's name are parsed, once per user: a file may have a million lines.
    """

    def __init__(self, content: str, *, continued: bool) -> None:
        self._content = content
        self._continued = continued
        self._known: dict[str, frozenset[str]] = {}
        self._has_escapes = (
            "\\" in content
        )  # names and line ends may be escaped, so a search for the name would miss lines

    def get(self, user: str, default: frozenset[str] = frozenset()) -> frozenset[str]:
        """Return the groups of *user*; *default* if there are none."""
        groups = self._known.get(user)
        if groups is None:
            lines = self._content if self._has_escapes or not user else "\n".join(self._lines_with(user))
            groups = parse_groups(lines, continued=self._continued).get(user, frozenset())
            if len(self._known) >= _MAX_USERS:
                self._known.clear()
            self._known[user] = groups
        return groups or default

    def _lines_with(self, user: str) -> Iterator[str]:
        at = self._content.find(user)
        while at >= 0:
            end = self._content.find("\n", at)
            end = len(self._content) if end < 0 else end
            yield self._content[self._content.rfind("\n", 0, at) + 1 : end]
            at = self._content.find(user, end)


def group_file(path: str, dialect: Dialect) -> AuthFile[Groups]:
    """Return the group file at *path*."""
    return AuthFile(path, lambda content: Groups(content, continued=dialect.overlong_line_is_eof))


def parse_groups(content: str, *, continued: bool) -> dict[str, frozenset[str]]:
    """Parse lines of the form ``group: user user ...``."""
    names: dict[str, set[str]] = {}
    for line in config_lines(content, longest=0 if continued else _MAX_LINE, continued=continued):
        group, rest = getword_at(line, ":")
        group = group.rstrip(_BLANKS).lower()
        while rest:
            user, rest = getword(rest)
            names.setdefault(user, set()).add(group)
    return {user: frozenset(groups) for user, groups in names.items()}

"""TestedAnswer: the answer to one request, with expectations that fail with its explanation."""

from __future__ import annotations

import os
import re
from typing import Final, NoReturn, Self

from whimbrel.api import Answer, Request, Site

REDIRECTS: Final = frozenset((301, 302, 303, 307, 308))
REFUSALS: Final = frozenset((401, 403))
_ORIGIN: Final = re.compile(r"https?://([^/?#]*)")


class TestedAnswer:
    """An answer; each expectation returns the answer itself, or fails with the lines that decided it.

    Attributes:
        request: the request that was sent.
        answer: status, headers, body, location and file.
    """

    __test__ = False  # the name does not make it a test class of pytest

    def __init__(self, site: Site, request: Request, answer: Answer) -> None:
        self._site = site
        self.request = request
        self.answer = answer

    def __repr__(self) -> str:
        return f"<{self.request.method} {self.request.url}: {self._result()}>"

    @property
    def status(self) -> int | None:
        """The status, None where a program or back end decides it."""
        return self.answer.status

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """The header fields."""
        return self.answer.headers

    @property
    def body(self) -> bytes:
        """The body."""
        return self.answer.body

    @property
    def location(self) -> str:
        """The target of a redirect, "" without one."""
        return self.answer.location

    def has_status(self, status: int) -> Self:
        """Expect a status."""
        __tracebackhide__ = True
        if self.answer.status != status:
            self._fail(f"status {status}")
        return self

    def redirects_to(self, target: str, *, status: int | None = None) -> Self:
        """Expect a redirect; *target* is a URL, or a path on the host of the request."""
        __tracebackhide__ = True
        statuses = REDIRECTS if status is None else {status}
        is_equal = self._comparable(self.answer.location) == self._comparable(target)
        if self.answer.status not in statuses or not is_equal:
            self._fail(f"a redirect to {target}" + (f" with status {status}" if status is not None else ""))
        return self

    def is_denied(self) -> Self:
        """Expect that access control refuses the request: 403, or 401 without valid credentials."""
        __tracebackhide__ = True
        if self.answer.status not in REFUSALS:
            self._fail("a refusal (401 or 403)")
        return self

    def serves(self, path: str | os.PathLike[str]) -> Self:
        """Expect 200 with a file; *path* is absolute, or the last components of the path of the file."""
        __tracebackhide__ = True
        name = os.fspath(path)
        if self.answer.status != 200 or not self._has_file(name):
            self._fail(f"the file {name}")
        return self

    def has_header(self, name: str, value: str | None = None) -> Self:
        """Expect a header field, with this value if one is given."""
        __tracebackhide__ = True
        found = self.answer.header(name)
        if found is None or value not in (None, found):
            wanted = name if value is None else f"{name}: {value}"
            self._fail(f"the field {wanted}", "none" if found is None else f"{name}: {found}")
        return self

    def _has_file(self, name: str) -> bool:
        file = self._mapped_file()
        if not file:
            return False
        paths = (file, os.path.realpath(file))
        if os.path.isabs(name):
            return os.path.realpath(name) in paths or name in paths
        return any(path.endswith(f"/{name.removeprefix('./')}") for path in paths)

    def _mapped_file(self) -> str:
        """Return the file that the URL is mapped to."""
        return self.answer.file

    def _comparable(self, url: str) -> str:
        """Return a URL without the origin of the request: another scheme is another target."""
        found = _ORIGIN.match(url)
        return url[found.end() :] if found is not None and found[0].lower() == self._origin() else url

    def _origin(self) -> str:
        """Return scheme and host of the request."""
        found = _ORIGIN.match(self.request.url)
        has_tls = self.request.tls or (found is not None and found[0].startswith("https:"))
        host = self.request.host or (found[1] if found is not None else self._site.server_name)
        return f"{'https' if has_tls else 'http'}://{host.lower()}"

    def _result(self) -> str:
        if self.answer.status is None:
            return f"not decided here ({self.answer.not_run} would run a program or contact a back end)"
        target = f" to {self.answer.location}" if self.answer.location else ""
        return f"{self.answer.status}{target}"

    def _fail(self, wanted: str, found: str = "") -> NoReturn:
        """Raise the failure with the explanation of the answer."""
        __tracebackhide__ = True
        title = f"{self.request.method} {self.request.url}: expected {wanted}, got {found or self._result()}"
        raise AssertionError(f"{title}\n\n{self._site.explain(self.request)}")

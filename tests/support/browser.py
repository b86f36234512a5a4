"""A client of an application's pages: it keeps cookies and sends forms."""

from __future__ import annotations

import urllib.error
import urllib.parse
import urllib.request
from http.cookiejar import CookieJar


class Browser:
    """A client with cookies."""

    def __init__(self, port: int) -> None:
        self.site = f"http://127.0.0.1:{port}"
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))

    def get(self, path: str, data: bytes | None = None, kind: str = "") -> str:
        """Return the body of the response to GET, or to POST of *data*."""
        headers = {"Content-Type": kind} if kind else {}
        request = urllib.request.Request(urllib.parse.urljoin(self.site, path), data, headers)
        with self._opener.open(request, timeout=20) as response:
            assert response.status == 200
            body: bytes = response.read()
        return body.decode("utf-8", "replace")

    def status(self, path: str) -> int:
        """Return the status of the response to GET."""
        try:
            with self._opener.open(urllib.parse.urljoin(self.site, path), timeout=20) as response:
                return int(response.status)
        except urllib.error.HTTPError as problem:
            return problem.code

    def post(self, path: str, fields: dict[str, str]) -> str:
        """Send a form."""
        return self.get(path, urllib.parse.urlencode(fields).encode())

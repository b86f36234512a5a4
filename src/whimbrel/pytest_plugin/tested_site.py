"""Sites of a test session: loaded once, answering in process or as live servers."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, NoReturn

import pytest

from whimbrel.api import ConfigurationError, Request, RequestError, Site, load
from whimbrel.api.requests import CLIENT
from whimbrel.pytest_plugin.live_server import LiveAnswer, LiveServer, ServerNotStarted
from whimbrel.pytest_plugin.tested_answer import TestedAnswer

MAX_SITES: Final = 16
"""Loaded sites of a session, and servers that run; the one that was requested first goes first."""
PathLike = str | os.PathLike[str]
Signature = tuple[tuple[str, int, int, int], ...]


class Defaults(NamedTuple):
    """What pytest.ini says; "" for nothing."""

    directory: Path
    conf: str = ""
    dialect: str = "2.4"
    envvars: str = ""


class SiteKey(NamedTuple):
    """The arguments of `load`."""

    path: str
    dialect: str
    at: str = "/"
    defines: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    envvars: str | None = None

    def load(self) -> Site:
        """Return the site; raises ConfigurationError, and ValueError for an unknown dialect."""
        return load(
            self.path,
            dialect=self.dialect,  # type: ignore[arg-type]  # `load` checks it
            at=self.at,
            defines=self.defines,
            before=self.before,
            after=self.after,
            envvars=self.envvars,
        )


class TestedSite:
    """A site whose answers have expectations.

    Attributes:
        site: the public API's site.
    """

    __test__ = False  # the name does not make it a test class of pytest

    def __init__(self, site: Site, server: LiveServer | None = None) -> None:
        self.site = site
        self.server = server

    def get(
        self,
        url: str,
        *,
        client: str = "",
        host: str = "",
        user: str = "",
        password: str | None = None,
        headers: Mapping[str, str] | None = None,
        method: str = "GET",
        tls: bool = False,
    ) -> TestedAnswer:
        """Return the answer to a request; the arguments are those of `whimbrel.api.Request`."""
        __tracebackhide__ = True
        address = client or (CLIENT if self.server is None else "127.0.0.1")
        request = Request(url, method, address, host, user, password, headers or {}, tls=tls)
        try:
            if self.server is not None:
                return LiveAnswer(self.site, request, self.server.answer(request))
            return TestedAnswer(self.site, request, self.site.answer(request))
        except RequestError as problem:
            message = str(problem)
        fail(message)


class Sites:
    """The sites of one session.

    Key: SiteKey; value: the site; valid while the files that it has read and their
    directories are unchanged; at most MAX_SITES. Servers that run have the same key and bound.
    """

    def __init__(self, defaults: Defaults) -> None:
        self.defaults = defaults
        self._sites: dict[SiteKey, tuple[Site, Signature]] = {}
        self._servers: dict[int, tuple[Site, LiveServer]] = {}

    def site(self, key: SiteKey, *, live: bool) -> TestedSite:
        """Return the site of *key*; fails the test with the error of one that does not load."""
        __tracebackhide__ = True
        try:
            site = self._site(key)
            return TestedSite(site, self._server(site) if live else None)
        except (ConfigurationError, ValueError, ServerNotStarted) as problem:
            message = str(problem)
        fail(message)

    def close(self) -> None:
        """End the servers that run."""
        for _site, server in self._servers.values():
            server.stop()
        self._servers.clear()
        self._sites.clear()

    def path(self, path: PathLike) -> str:
        """Return *path* below the root directory of pytest."""
        return os.path.join(self.defaults.directory, path)

    def _site(self, key: SiteKey) -> Site:
        found = self._sites.get(key)
        if found is not None and found[1] == _signature(found[0].files):
            return found[0]
        site = key.load()
        self._sites.pop(key, None)
        if len(self._sites) >= MAX_SITES:
            del self._sites[next(iter(self._sites))]
        self._sites[key] = site, _signature(site.files)
        return site

    def _server(self, site: Site) -> LiveServer:
        """Return the running server of *site*."""
        found = self._servers.get(id(site))
        if found is None:
            if len(self._servers) >= MAX_SITES:
                self._servers.pop(next(iter(self._servers)))[1].stop()
            found = site, LiveServer(site)
            self._servers[id(site)] = found
        return found[1]


class HttpdSites:
    """The fixture `httpd`."""

    def __init__(self, sites: Sites) -> None:
        self._sites = sites

    def __call__(
        self,
        path: PathLike | None = None,
        *,
        dialect: str | None = None,
        live: bool = False,
        defines: Sequence[str] = (),
        before: Sequence[str] = (),
        after: Sequence[str] = (),
        envvars: PathLike | None = None,
    ) -> TestedSite:
        """Return the site of a main file or server root, below pytest's root directory.

        *live* starts `whimbrel serve` on free ports of the loopback interface; it ends with the session.
        """
        __tracebackhide__ = True
        conf = path or self._sites.defaults.conf
        if not conf:
            fail("httpd() without a path needs whimbrel_conf in pytest.ini")
        sites = self._sites
        variables = envvars or sites.defaults.envvars
        key = SiteKey(
            sites.path(conf),
            dialect or sites.defaults.dialect,
            defines=tuple(defines),
            before=tuple(before),
            after=tuple(after),
            envvars=sites.path(variables) if variables else None,
        )
        return sites.site(key, live=live)


class HtaccessSites:
    """The fixture `htaccess`."""

    def __init__(self, sites: Sites) -> None:
        self._sites = sites

    def __call__(
        self,
        path: PathLike = ".htaccess",
        *,
        at: str = "/",
        dialect: str | None = None,
        live: bool = False,
    ) -> TestedSite:
        """Return a site that serves the directory of a .htaccess file at the URL path *at*."""
        __tracebackhide__ = True
        sites = self._sites
        key = SiteKey(sites.path(path), dialect or sites.defaults.dialect, at)
        return sites.site(key, live=live)


def fail(message: str) -> NoReturn:
    """Fail the test with *message* alone."""
    __tracebackhide__ = True
    pytest.fail(message, pytrace=False)


def _signature(files: Iterable[str]) -> Signature:
    """Return the state of files and of their directories, in which an Include may find others."""
    paths = dict.fromkeys(path for file in files for path in (file, os.path.dirname(file)))
    return tuple(_state(path) for path in paths)


def _state(path: str) -> tuple[str, int, int, int]:
    try:
        status = os.stat(path)
    except OSError:
        return path, 0, 0, 0
    return path, status.st_mtime_ns, status.st_size, status.st_ino

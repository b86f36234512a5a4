"""Site: a configuration under a dialect, which answers in process and can be checked and upgraded."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from whimbrel.api.answers import Answer, Explanation
from whimbrel.api.findings import CheckReport, Unknown, UpgradePlan
from whimbrel.api.requests import CLIENT, Request

if TYPE_CHECKING:
    from whimbrel.api.loaded_site import LoadedSite

Dialect = Literal["2.4", "2.2", "guide"]


class Site:
    """A configuration under a dialect.

    The first request loads the configuration and raises ConfigurationError if httpd would not start with it;
    `check` and `upgrade` need no configuration that starts. Requests run no program, contact no back end and
    write no log. What the text names and this machine lacks is left out, and listed in `unknown`.

    Args:
        path: a main file, a server root, a copy of one, or a .htaccess file, whose directory is then served.
        dialect: the version that answers: "2.4", "2.2", or "guide" (2.4 as its upgrade guide describes it).
        at: the URL path of the directory of a .htaccess file.
        defines, before, after: names and lines as of httpd's -D, -C and -c.
        envvars: the file of shell variables for ${NAME}. The default is that of the layout.

    Attributes:
        path: of the main file, directory or .htaccess file that was named.
        dialect: the same as the argument.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        dialect: Dialect = "2.4",
        at: str = "/",
        defines: Sequence[str] = (),
        before: Sequence[str] = (),
        after: Sequence[str] = (),
        envvars: str | os.PathLike[str] | None = None,
    ) -> None:
        from whimbrel.api.named_files import named_input
        from whimbrel.upgrade.source.named_sources import ConfigArguments

        variables = None if envvars is None else Path(envvars)
        lines = ConfigArguments(before=before, after=after, defines=defines, envvars=variables)
        self._named = named_input(os.fspath(path), dialect, at, lines)
        self.path = self._named.path
        self.dialect: Dialect = dialect
        self._loaded: LoadedSite | None = None

    def __repr__(self) -> str:
        return f"<Site {self.path!r} dialect={self.dialect!r}>"

    def check(self, *, select: Sequence[str] = (), ignore: Sequence[str] = ()) -> CheckReport:
        """Return what an upgrade from 2.2 to 2.4 changes; *select* and *ignore* name rules (C17)."""
        from whimbrel.api.checking import check_input

        return check_input(self._named, select, ignore)

    def upgrade(
        self,
        *,
        style: Literal["native", "compat"] = "native",
        target: str = "2.4",
        also_22: bool = False,
        exact: bool = False,
        verify: bool = True,
    ) -> UpgradePlan:
        """Return the configuration rewritten for 2.4; no file is written.

        Args:
            style: access control with Require, or with mod_access_compat.
            target: the release that must read the result, such as "2.4.58".
            also_22: 2.2 must read the result too.
            exact: keep the behaviour of 2.2 where the upgrade guide differs.
            verify: compare the answers of both versions, and mark what differs for review.
        """
        from whimbrel.api.checking import upgrade_input, upgrade_options

        options = upgrade_options(style, target, also_22=also_22, exact=exact)
        return upgrade_input(self._named, options, is_verified=verify)

    @property
    def unknown(self) -> tuple[Unknown, ...]:
        """What is not known of this configuration here, what may matter first."""
        from whimbrel.api.conversion import unknown_of

        return unknown_of(self._ready().knowledge.scope)

    @property
    def files(self) -> tuple[str, ...]:
        """The files that were read, those of requests excepted."""
        from whimbrel.api.conversion import path_of

        read = map(path_of, self._ready().knowledge.scope.files_read)
        return tuple(dict.fromkeys((self.path, *read)))

    @property
    def ports(self) -> tuple[int, ...]:
        """The ports that the text listens to."""
        listeners = self._ready().side.loaded.spec.listeners
        return tuple(dict.fromkeys(listener.port for listener in listeners))

    @property
    def server_name(self) -> str:
        """The host of requests that name none: ServerName of the main server."""
        return self._ready().side.loaded.main.name or "localhost"

    @property
    def serve_arguments(self) -> tuple[str, ...]:
        """The arguments of `whimbrel serve` that serve this site; valid as long as this object lives."""
        lines = self._named.lines
        pairs = [("-D", lines.defines), ("-C", lines.before), ("-c", lines.after)]
        words = [word for option, values in pairs for value in values for word in (option, value)]
        envvars = ["--envvars", os.fspath(lines.envvars)] if lines.envvars is not None else []
        return (self._named.served, "--dialect", self.dialect, *words, *envvars)

    def get(
        self,
        url: str,
        *,
        client: str = CLIENT,
        host: str = "",
        user: str = "",
        password: str | None = None,
        headers: Mapping[str, str] | None = None,
        method: str = "GET",
        tls: bool = False,
    ) -> Answer:
        """Return the answer to a request; see `Request` for the arguments."""
        return self.answer(Request(url, method, client, host, user, password, headers or {}, tls=tls))

    def answer(self, request: Request) -> Answer:
        """Return the answer to *request*."""
        from whimbrel.api.answering import answer_request

        return answer_request(self._ready(), request)

    def explain(self, request: Request | str) -> Explanation:
        """Return the answer to *request* with the lines that decided it."""
        from whimbrel.api.answering import explain_request

        request = Request(request) if isinstance(request, str) else request
        return explain_request(self._ready(), request, self._named.directory)

    def _ready(self) -> LoadedSite:
        """Return the loaded configuration; raises ConfigurationError."""
        if self._loaded is None:
            from whimbrel.api.answering import load_site

            self._loaded = load_site(self._named, self.dialect)
        return self._loaded


load: Final = Site
"""Load a configuration: the verb by which `whimbrel.api` has it. Raises ConfigurationError for a file that
cannot be read."""

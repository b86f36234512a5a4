"""Recorded cases as sides of a verification: two configurations in one server root."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace

from tests.conformance.case import Case, Version
from tests.conformance.in_process import modules
from tests.conformance.site import RecordedSite, preamble
from whimbrel.base.dialect import Dialect
from whimbrel.base.latin1 import from_system
from whimbrel.config.options import LoadOptions
from whimbrel.verify.side import Side


@contextlib.contextmanager
def site_of(case: Case) -> Iterator[RecordedSite]:
    """The server root of *case*, as the working directory."""
    with RecordedSite(case, modules(case.version)) as site, contextlib.chdir(site.root):
        yield site


def side(
    site: RecordedSite, case: Case, name: str, dialect: Dialect | str | None = None, conf: str | None = None
) -> Side:
    """The configuration *conf* (default: that of *case*) below the root of *site*, with its preamble."""
    version: Version = case.version
    twin = _Twin(site, replace(case, conf=case.conf if conf is None else conf))
    site.write_text(f"conf/{name}.conf", twin.conf)
    site.write_text(f"conf/{name}-preamble.conf", "".join(line + "\n" for line in preamble(twin)))
    options = LoadOptions(
        server_root=from_system(site.root),
        file=from_system(site.path(f"conf/{name}.conf")),
        defines=case.defines,
        before=(f'Include "{site.root}/conf/{name}-preamble.conf"',),
        environment=site.environment(),
    )
    return Side.load(options, dialect or version, name=name)


class _Twin(RecordedSite):
    """Another configuration for the root of a site."""

    def __init__(self, site: RecordedSite, case: Case) -> None:
        self.case, self.modules = case, modules(case.version)
        self.root, self.document_root = site.root, site.document_root
        self.ports, self.tokens = site.ports, site.tokens
        self.conf = self.expand(case.conf)

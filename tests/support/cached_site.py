"""A site behind mod_cache: engines with an origin that a test scripts, and a clock that it sets."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.support.client import Reply, decoded_body, fetch
from tests.support.engine import build_engine
from tests.support.site import CONF
from whimbrel.base.dialect import DIALECTS
from whimbrel.config.load import load
from whimbrel.config.options import LoadOptions
from whimbrel.engine.engine import Engine
from whimbrel.http.semantics.dates import format_http
from whimbrel.modules import ALL
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Reads
from whimbrel.registry.phases import HANDLER
from whimbrel.testing.fake_runtime import FakeRuntime

LOAD = "LoadModule cache_module modules/mod_cache.so\nLoadModule "
MODULES = {
    "2.4": LOAD + "cache_disk_module modules/mod_cache_disk.so\n",
    "2.2": LOAD + "disk_cache_module modules/mod_disk_cache.so\n",
}
NOW = 1_700_000_000.0
MODIFIED = format_http(int(NOW) - 1_000_000)
FRESH = (("Cache-Control", "max-age=60"), ("Last-Modified", MODIFIED), ("ETag", '"1"'))


class Origin:
    """The handler of the site: counts requests and answers each with *fields*, *status* and *body*."""

    def __init__(self, fields: Iterable[tuple[str, str]] = FRESH) -> None:
        self.fields, self.status, self.body = list(fields), 200, b"body"
        self.seen: list[dict[str, str]] = []
        self.methods: list[str] = []
        self.before: Callable[[], None] | None = None

    def __call__(self, r: Any) -> int:
        """Answer a request; a matching If-None-Match gets 304 if an ETag is among the fields."""
        self.seen.append({name.lower(): value for name, value in r.headers_in})
        self.methods.append(r.method)
        if self.before is not None:
            self.before()
        tag = dict(self.fields).get("ETag")
        for name, value in self.fields:
            r.headers_out.add(name, value)
        r.content_type = "text/plain"
        if self.status == 200 and tag is not None and self.seen[-1].get("if-none-match") == tag:
            r.status = 304
            return 0
        if self.status >= 400:
            return self.status
        r.status = self.status
        r.write(self.body)
        return 0


class OriginModules(Mapping[str, Module]):
    """All modules, with the origin before the handlers of the core."""

    def __init__(self, origin: Origin) -> None:
        self._origin = origin

    def __getitem__(self, name: str) -> Module:
        if name != "core":
            return ALL[name]
        hook = Hook(HANDLER, lambda _: CompiledHook(self._origin, Reads.UNCACHEABLE), Order.FIRST)
        return dataclasses.replace(ALL[name], hooks=(*ALL[name].hooks, hook))

    def __iter__(self) -> Iterator[str]:
        return iter(ALL)

    def __len__(self) -> int:
        return len(ALL)


class CachedSite:
    """An engine, its origin and its clock."""

    def __init__(
        self, root: Path, conf: str = "CacheEnable disk /", version: str = "2.4", load: str = ""
    ) -> None:
        self.root, self.origin = root, Origin()
        (root / "cache").mkdir(exist_ok=True)
        (root / "run").mkdir(exist_ok=True)
        text = f"{MODULES[version]}{load}\nCacheRoot {root}/cache\n{conf}\n"
        if version == "2.4":
            text += f"CacheHeader On\nDefaultRuntimeDir {root}/run\n"
        self._version, self._text = version, text
        build_engine(root, text, version=version)  # writes the files
        self.restart()

    engine: Engine

    def restart(self) -> None:
        """Begin with a new engine, as another worker does."""
        if hasattr(self, "engine"):
            self.engine.worker_state.clear()
        runtime = FakeRuntime()
        runtime.now = self.clock  # type: ignore[method-assign]
        options = LoadOptions(server_root=str(self.root), file=str(self.root / CONF))
        configuration = load(options, OriginModules(self.origin), DIALECTS[self._version])
        self.engine = Engine(configuration, runtime)

    now: float = NOW

    def clock(self) -> float:
        """Return the time that the site has."""
        return self.now

    def get(self, path: str = "/x", *fields: str, method: str = "GET", body: str = "") -> Reply:
        """Return the response to a request, without its transfer coding."""
        reply = fetch(self.engine, path, *fields, method=method, body=body)
        return dataclasses.replace(reply, body=decoded_body(reply))

    def state(self, *fields: str, path: str = "/x") -> str:
        """Return the first word of X-Cache of a GET, "none" without it."""
        return (self.get(path, *fields).get("X-Cache") or "none").split()[0]

    @property
    def count(self) -> int:
        """Return the number of requests that reached the origin."""
        return len(self.origin.seen)

    def files(self, suffix: str) -> list[Path]:
        """Return the cache's files with that suffix."""
        return [path for path in (self.root / "cache").rglob("*" + suffix) if path.is_file()]

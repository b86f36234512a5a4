"""Cached credentials are in the object cache of AuthnCacheSOCache: every worker process knows them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.differential.module_row import Row
from tests.differential.module_rows_access import location
from tests.differential.module_site import NEEDS, ModuleSite, running_backends
from tests.differential.servers import APACHE, WHIMBREL, Program

pytest.importorskip("lmdb", reason="the optional package lmdb is not installed")

WORKERS = 4
REQUESTS = 24
"""So many that each worker process answers some."""
KINDS = ["shmcb", "shmcb:@/run/cached(65536)", "dbm:@/run/cached"]
REMOTE = {"memcache": "memcache:127.0.0.1:%MEMCACHE%", "redis": "redis:127.0.0.1:%REDIS%"}


def row(kind: str, path: str = "/a.txt", user: str = "alice:wonder") -> Row:
    conf = location(
        "AuthType Basic\nAuthName zone\nAuthBasicProvider socache file\nAuthUserFile @/users\n"
        "AuthnCacheProvideFor file\nAuthnCacheContext zone\nAuthnCacheTimeout 600\nRequire valid-user"
    )
    loaded = f"socache_{kind.partition(':')[0]}"
    return Row(
        "mod_authn_socache",
        conf,
        path,
        "",
        user=user,
        loads=f"{loaded} auth_basic authn_file authz_user",
        process="prefork",
        main=f"AuthnCacheSOCache {kind}\nStartServers {WORKERS}\nMinSpareServers {WORKERS}",
    )


@pytest.fixture(scope="module")
def places() -> Iterator[dict[str, object]]:
    with TemporaryDirectory(prefix="whimbrel-authn-") as base, running_backends(Path(base)) as found:
        yield found


@pytest.fixture
def directory() -> Iterator[Path]:
    """A directory that the workers' user can read, as those above it."""
    with TemporaryDirectory(prefix="whimbrel-authn-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.parametrize("program", [APACHE, WHIMBREL], ids=lambda program: program.name)
@pytest.mark.parametrize("kind", [*KINDS, *REMOTE])
def test_every_worker_knows_a_cached_user(
    kind: str, program: Program, places: dict[str, object], directory: Path
) -> None:
    if not program.present or NEEDS.get(kind):
        pytest.skip(NEEDS.get(kind) or f"{program.name} is not installed")
    one = row(REMOTE.get(kind, kind))
    with ModuleSite(program, directory, [one], "2.4", places) as site:
        assert site.started, site.output
        assert site.ask(one).startswith("HTTP/1.1 200 ")
        (directory / "users").write_text("")
        assert {site.ask(one).split()[1] for _ in range(REQUESTS)} == {"200"}
        wrong = row(REMOTE.get(kind, kind), user="alice:other")
        assert site.ask(wrong).split()[1] == "401"

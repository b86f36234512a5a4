"""The lock database for providers of other modules."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.support.engine import build_engine

from whimbrel.modules.dav.mod_dav.errors import DavError
from whimbrel.modules.dav.mod_dav_lock import DavLockDirConfig

LOADED = "LoadModule dav_module m/mod_dav.so\nLoadModule dav_lock_module m/mod_dav_lock.so\n"


def request(served: Any, conf: DavLockDirConfig) -> Any:
    """A request with the settings *conf*."""
    return SimpleNamespace(engine=served, dir_config=lambda _kind: conf)


def test_provider(tmp_path: Path) -> None:
    served = build_engine(tmp_path, LOADED + "<Location /x>\nDavGenericLockDB locks\n</Location>")
    generic = served.configuration.provider("dav-lock", "generic")
    store = generic(request(served, DavLockDirConfig(str(tmp_path / "locks"))))
    assert store.find("/x/y") == []
    assert generic(request(served, DavLockDirConfig(str(tmp_path / "locks")))) is store
    with pytest.raises(DavError) as caught:
        generic(request(served, DavLockDirConfig(""))).find("/x")
    assert "DAVGenericLockDB" in caught.value.description

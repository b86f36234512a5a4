"""mod_slotmem_shm and the methods are required. Messages are those of httpd 2.4.71."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.balancers import cluster
from tests.support.engine import build_engine

from whimbrel.base.errors import PostConfigError

NO_SLOTS = "AH01177: Failed to lookup provider 'shm' for 'slotmem': is mod_slotmem_shm loaded??"
NO_METHOD = "AH02432: Cannot find LB Method: byrequests"


@pytest.mark.parametrize(
    ("modules", "line"), [("", NO_SLOTS), ("slotmem_shm", NO_METHOD), ("slotmem_plain", NO_SLOTS)]
)
def test_missing_modules_stop_the_start(modules: str, line: str, tmp_path: Path) -> None:
    names = ["proxy", "proxy_balancer", *modules.split()]
    lines = "".join(f"LoadModule {name}_module modules/mod_{name}.so\n" for name in names)
    with pytest.raises(PostConfigError) as problem:
        build_engine(tmp_path, lines + cluster("81"))
    assert problem.value.log_lines[0][1] == line

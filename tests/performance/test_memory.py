"""Memory of the lines of a large configuration in a running server: bytes of objects, the same on every
machine.

The benchmark has ten thousand such lines, and every process holds them.
"""

from __future__ import annotations

import gc
import re
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from whimbrel.base.dialect import V24
from whimbrel.config.configuration import Configuration
from whimbrel.config.load import load
from whimbrel.config.options import LoadOptions
from whimbrel.modules import ALL

LINES = 400
START = "".join(
    f"LoadModule {name}_module modules/mod_{name}.so\n"
    for name in ("mpm_event", "authz_core", "authz_host", "mime", "rewrite")
)
START += 'ServerName localhost\nListen 127.0.0.1:8080\nDocumentRoot "{root}"\nTypesConfig "{root}/types"\n'


def loaded(root: Path, text: str) -> Configuration:
    (root / "types").write_text("text/html html\n")
    (root / "logs").mkdir(exist_ok=True)
    (root / "httpd.conf").write_text((START + text).replace("{root}", str(root)))
    configuration = load(LoadOptions(server_root=str(root), file=str(root / "httpd.conf")), ALL, V24)
    configuration.release_tree()
    return configuration


def networks(count: int) -> str:
    return (
        '<Directory "{root}">\n'
        + "".join(f"Require ip 10.{n // 250}.{n % 250}.0/24\n" for n in range(count))
        + "</Directory>\n"
    )


def hosts(count: int) -> str:
    return "".join(
        f'<VirtualHost *>\nServerName h{n}.example.org\nDocumentRoot "{{root}}"\n</VirtualHost>\n'
        for n in range(count)
    )


def sections(count: int) -> str:
    return "".join(f"<Location /part{n}>\nAddType text/plain .x{n}\n</Location>\n" for n in range(count))


def rules(count: int) -> str:
    return "RewriteEngine On\n" + "".join(
        f"RewriteRule ^/old{n}\\.html$ /1k.html [L]\n" for n in range(count)
    )


@pytest.mark.parametrize(
    ("written", "most"), [(networks, 450), (hosts, 1250), (sections, 1250), (rules, 1700)]
)
def test_bytes(tmp_path: Path, written: Callable[[int], str], most: int) -> None:
    texts = written(LINES), written(2 * LINES)
    kept = [loaded(tmp_path, texts[0])]
    sizes = []
    for text in texts:
        gc.collect()
        re.purge()  # each text compiles its patterns; the cache of `re`, which has a bound, does not count
        tracemalloc.start()
        kept.append(loaded(tmp_path, text))
        gc.collect()
        re.purge()
        sizes.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
    few, many = sizes
    assert (many - few) / LINES <= most

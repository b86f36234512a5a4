"""Files of 2.2 in the hands of `check` and `upgrade`: no exception; an upgraded file is not changed again."""

from __future__ import annotations

from collections.abc import Sequence

from tests.fuzz import seeds as recorded
from whimbrel.upgrade.check.check import Selection, judge
from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.model import UpgradeOptions
from whimbrel.upgrade.source.reading import Overlay, Sources, read_config_tree

COVERED = ("upgrade/check/fixpoint.py", "upgrade/source/reading.py", "upgrade/source/text_faults.py")
TOKENS = (
    b"Order allow,deny\n",
    b"Allow from all\n",
    b"Deny from 10.0.0.1\n",
    b"Satisfy any\n",
    b"<Limit GET>\n",
    b"</Limit>\n",
    b"<Directory />\n",
    b"</Directory>\n",
    b"NameVirtualHost *:80\n",
    b"<VirtualHost *:80>\n",
    b"</VirtualHost>\n",
    b"\\\n",
    b"LockFile x\n",
    b"SSLMutex none\n",
    b"MaxClients 5\n",
    b"<IfModule mod_authz_host.c>\n",
    b"</IfModule>\n",
    b"RewriteLog x\n",
)
CHANGED = 20
SECONDS = 5.0  # access control is solved by search
PATH = "/nonexistent/a.conf"
SPACE = 3000  # bytes of the longest file


def seeds() -> Sequence[bytes]:
    return recorded.few(recorded.texts("authz-mixed", "config-vhost", "config-lang", "core-rewrite"), 20)


def run(data: bytes) -> None:
    once = _upgraded(data[:SPACE])
    assert _upgraded(once) == once


def _upgraded(text: bytes) -> bytes:
    sources = Sources(fragments=(PATH,))
    overlay = Overlay({PATH: text})
    judge(read_config_tree(sources, UpgradeOptions(), overlay=overlay), Selection())
    return upgrade(read_config_tree(sources, UpgradeOptions(), overlay=overlay)).files.get(PATH, text)

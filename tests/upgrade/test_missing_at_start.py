"""`check` names the lines at which apache2 ends its start for what is missing, in apache2's order."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.corpus.httpd_check import APACHE, MODULES, needs_apache
from whimbrel.base.latin1 import from_system
from whimbrel.config.options import LoadOptions
from whimbrel.upgrade.check.check import check, parse_selection
from whimbrel.upgrade.knowledge.loaded import NO_START_24, STARTS
from whimbrel.upgrade.source.reading import Sources

NAMES = ("mpm_prefork", "authz_core", "suexec", "ssl", "rewrite")
CONF = """\
<VirtualHost *:443>
    SSLEngine On
    SSLCertificateFile conf/none.pem
    SSLCertificateChainFile conf/chain.pem
    SSLCACertificateFile conf/ca.pem
</VirtualHost>
<VirtualHost *:80>
    SuexecUserGroup nobody nogroup
    RewriteEngine On
    RewriteMap names txt:conf/names.txt
</VirtualHost>
"""


@needs_apache
def test_each_missing_thing_is_named_in_the_order_in_which_apache2_ends(tmp_path: Path) -> None:
    for directory in ("conf", "htdocs", "logs"):
        (tmp_path / directory).mkdir()
    conf = tmp_path / "conf/httpd.conf"
    load = "".join(f"LoadModule {one}_module {MODULES}/mod_{one}.so\n" for one in NAMES)
    head = (
        f'ServerRoot "{tmp_path}"\nServerName a.example\n{load}DocumentRoot "{tmp_path}/htdocs"\nSuexec Off\n'
    )
    text = head + CONF
    conf.write_text(text)
    options = LoadOptions(server_root=from_system(str(tmp_path)), file="conf/httpd.conf")
    found = check(Sources(options=options), parse_selection("", "")).scope.items
    missing = [item for item in found if item.consequence in STARTS]
    lines = [item.place.line for item in missing if item.place is not None]
    ends = []
    while (end := _end_of_start(conf)) is not None:
        ends.append(end)
        rows = text.splitlines()
        rows[end - 1] = ""
        text = "\n".join(rows) + "\n"
        conf.write_text(text)
    assert len(ends) == 5
    assert lines == ends
    # mod_suexec of 2.2.34, set_suexec_ugid: a warning, and NULL, which is no error
    assert [item.subject.split()[0] for item in missing if item.consequence == NO_START_24] == [
        "SuexecUserGroup"
    ]


@needs_apache
def test_a_file_in_the_place_of_the_main_documentroot_ends_the_start(tmp_path: Path) -> None:
    """A virtual host with such a root is one that both versions start with."""
    (tmp_path / "conf").mkdir()
    (tmp_path / "logs").mkdir()
    (tmp_path / "page").write_text("a page\n")
    conf = tmp_path / "conf/httpd.conf"
    load = "".join(f"LoadModule {one}_module {MODULES}/mod_{one}.so\n" for one in NAMES[:2])
    host = f"<VirtualHost *:80>\nDocumentRoot {tmp_path}/page\n</VirtualHost>\n"
    conf.write_text(
        f'ServerRoot "{tmp_path}"\nServerName a.example\n{load}DocumentRoot {tmp_path}/page\n{host}'
    )
    options = LoadOptions(server_root=from_system(str(tmp_path)), file="conf/httpd.conf")
    found = check(Sources(options=options), parse_selection("", "")).scope.items
    lines = [item.place.line for item in found if item.consequence in STARTS and item.place is not None]
    assert lines == [_end_of_start(conf)] == [5]


def _end_of_start(conf: Path) -> int | None:
    """Return the line at which apache2 ends its start, None if it accepts the text."""
    done = subprocess.run([APACHE, "-t", "-f", conf], capture_output=True, text=True, check=False, timeout=30)
    if done.returncode == 0 or "Syntax error on line " not in done.stderr:
        return None
    return int(done.stderr.partition("Syntax error on line ")[2].split()[0])

"""mod_info. Every expected line is recorded from httpd 2.4.71."""

from __future__ import annotations

from pathlib import Path

from tests.support.client import fetch
from tests.support.engine import build_engine

CONF = """LoadModule info_module modules/mod_info.so
<Location /info>
SetHandler server-info
</Location>
AddModuleInfo mod_dir.c "see <a href='x'>y</a>"
<Directory "@/htdocs">
Options Indexes
<Files x>
DirectoryIndex a.html
</Files>
</Directory>
"""


def test_list(tmp_path: Path) -> None:
    reply = fetch(build_engine(tmp_path, CONF), "/info?list")
    assert reply.get("Content-Type") == "text/html; charset=ISO-8859-1"
    assert (
        "<dl><dt>Server Module List</dt><dd>core.c</dd><dd>event.c</dd><dd>http_core.c</dd><dd>"
        "mod_alias.c</dd>" in reply.body
    )


def test_a_module(tmp_path: Path) -> None:
    body = fetch(build_engine(tmp_path, CONF), "/info?mod_dir.c").body
    assert "<dd><tt>DirectorySlash - <i>On or Off</i></tt></dd>\n" in body
    tail = body.partition("<strong>Current Configuration:</strong></dt>\n")[2].partition("</dl><hr />")[0]
    lines = [line.partition(":&nbsp;")[2] for line in tail.splitlines() if ":&nbsp;" in line]
    assert lines[:3] == [
        f"&lt;Directory &quot;{tmp_path}/htdocs&quot;&gt;</tt></dd>",
        "&nbsp;&nbsp;&lt;Files x&gt;</tt></dd>",
        "&nbsp;&nbsp;&nbsp;&nbsp;DirectoryIndex <i>a.html</i></tt></dd>",
    ]
    assert "Options" not in tail
    assert tail.endswith("<dt><strong>Additional Information:</strong>\n</dt><dd>see <a href='x'>y</a></dd>")


def test_unknown_and_other_methods(tmp_path: Path) -> None:
    serving = build_engine(tmp_path, CONF)
    assert fetch(serving, "/info?nope").body.endswith("Apache Server Information</h1>\n</body></html>\n")
    assert fetch(serving, "/info", method="POST", body="x").status == 404
    assert '<a href="#mod_dir.c">mod_dir.c</a>, ' in fetch(serving, "/info").body
    assert (
        "&nbsp;AddModuleInfo <i>mod_dir.c &quot;see &lt;a href='x'&gt;y&lt;/a&gt;&quot;</i>"
        in fetch(serving, "/info?config").body
    )


def test_hooks_and_providers(tmp_path: Path) -> None:
    serving = build_engine(tmp_path, CONF)
    body = fetch(serving, "/info?hooks").body
    listed = body.partition("<strong>Fixups:</strong>\n <br /><tt>\n")[2].partition("\n")[0]
    assert listed == "".join(
        f'&nbsp;&nbsp; {order} <a href="?{name}.c">{name}.c</a> <br/>'
        for order, name in (
            ("-10", "core"),
            ("10", "mod_alias"),
            ("10", "mod_env"),
            ("20", "mod_dir"),
            ("20", "mod_headers"),
        )
    )
    assert (
        "<dt><strong>authz</strong> (version <tt>0</tt>):\n <br />\n<tt>&nbsp;&nbsp;all</tt><br/>"
        in fetch(serving, "/info?providers").body
    )


def test_the_host_of_the_request_comes_first(tmp_path: Path) -> None:
    host = "<VirtualHost *:80>\nServerName localhost\nAddModuleInfo mod_dir.c host\n</VirtualHost>"
    body = fetch(build_engine(tmp_path, CONF + host), "/info?mod_dir.c").body
    assert body.endswith("</dt><dd>host</dd></dl><hr />\n</body></html>\n")


def test_a_container_without_lines_is_a_directive(tmp_path: Path) -> None:
    body = fetch(build_engine(tmp_path, CONF + "<Location /empty>\n</Location>"), "/info?config").body
    assert ":&nbsp;&lt;Location <i>/empty&gt;</i></tt></dd>\n" in body


def test_version_22(tmp_path: Path) -> None:
    serving = build_engine(tmp_path, CONF, version="2.2")
    assert "<p><b>No such module</b></p>" in fetch(serving, "/info?nope").body
    body = fetch(serving, "/info").body
    assert '<dl><dt><tt>Loaded Modules: <br /><a href="#mod_info.c">mod_info.c</a>, ' in body
    assert "Other Hooks" not in body and "Available Providers" not in body


def test_a_server_that_shows_its_lines_keeps_them(tmp_path: Path) -> None:
    serving = build_engine(tmp_path, CONF)
    serving.configuration.release_tree()
    assert "DirectoryIndex <i>a.html</i>" in fetch(serving, "/info?config").body

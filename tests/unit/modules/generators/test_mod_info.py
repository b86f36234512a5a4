"""mod_info. Every expected line is recorded from httpd 2.4.71."""

from __future__ import annotations

from pathlib import Path

from tests.unit.modules.asked import ask, engine

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
    reply = ask(engine(tmp_path, CONF), "/info?list")
    assert reply.get("Content-Type") == "text/html; charset=ISO-8859-1"
    assert (
        "<dl><dt>Server Module List</dt><dd>core.c</dd><dd>event.c</dd><dd>http_core.c</dd><dd>"
        "mod_alias.c</dd>" in reply.body
    )


def test_a_module(tmp_path: Path) -> None:
    body = ask(engine(tmp_path, CONF), "/info?mod_dir.c").body
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
    serving = engine(tmp_path, CONF)
    assert ask(serving, "/info?nope").body.endswith("Apache Server Information</h1>\n</body></html>\n")
    assert ask(serving, "/info", method="POST", body="x").status == 404
    assert '<a href="#mod_dir.c">mod_dir.c</a>, ' in ask(serving, "/info").body
    assert (
        "&nbsp;AddModuleInfo <i>mod_dir.c &quot;see &lt;a href='x'&gt;y&lt;/a&gt;&quot;</i>"
        in ask(serving, "/info?config").body
    )


def test_a_server_that_shows_its_lines_keeps_them(tmp_path: Path) -> None:
    serving = engine(tmp_path, CONF)
    serving.configuration.release_tree()
    assert "DirectoryIndex <i>a.html</i>" in ask(serving, "/info?config").body

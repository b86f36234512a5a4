"""--json: the facts of httpd's texts in one document."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support import warm_command

MAIN = """LoadModule mpm_event_module m/mod_mpm_event.so
ServerName localhost
Define COLOUR blue
Include conf/more.conf
<VirtualHost *:80>
  ServerName a.example
  ServerAlias b.example *.c.example
</VirtualHost>
"""


def check(folder: Path, text: str, *words: str) -> tuple[int, Any]:
    """Return the status and the document of whimbrel-httpd in a server root with this configuration."""
    (folder / "conf").mkdir()
    (folder / "logs").mkdir()
    (folder / "conf/httpd.conf").write_text(text)
    (folder / "conf/more.conf").write_text("KeepAlive On\n")
    argv = ["whimbrel-httpd", "-d", str(folder), *words, "--json"]
    done = warm_command.run(argv, cwd=folder, entry=warm_command.httpd)
    assert done.stderr == b""
    return done.returncode, json.loads(done.stdout)


def test_virtual_hosts_and_run_settings(tmp_path: Path) -> None:
    status, found = check(tmp_path, MAIN, "-S")
    assert (status, found["ok"]) == (0, True)
    (chain,) = found["virtual_hosts"]
    assert (chain["address"], chain["port"]) == ("*", 80)
    (server,) = chain["servers"]
    assert (server["name"], server["aliases"], server["wild_aliases"], server["line"]) == (
        "a.example",
        ["b.example"],
        ["*.c.example"],
        5,
    )
    assert found["run"]["pid_file"] == f"{tmp_path}/logs/httpd.pid"  # no text names Debian's build
    assert found["build"] == {
        "name": "shared",
        "reason": "LoadModule mpm_event_module: the MPM is a shared module",
        "layout": "httpd's own",
    }
    assert found["run"]["defines"]["COLOUR"] == "blue"


def test_modules_includes_and_directives(tmp_path: Path) -> None:
    status, found = check(tmp_path, MAIN, "-M", "-D", "DUMP_INCLUDES", "-D", "DUMP_CONFIG")
    assert status == 0
    linkage = {module["name"]: module["linkage"] for module in found["modules"]}
    assert (linkage["core_module"], linkage["mpm_event_module"]) == ("static", "shared")
    assert [(one["file"], one["line"]) for one in found["includes"]] == [
        (f"{tmp_path}/conf/httpd.conf", None),
        (f"{tmp_path}/conf/more.conf", 4),
    ]
    assert [(one["name"], one["depth"], one["line"]) for one in found["config"]] == [
        ("ServerName", 0, 2),
        ("KeepAlive", 0, 1),
        ("<VirtualHost", 0, 5),
        ("ServerName", 1, 6),
        ("ServerAlias", 1, 7),
    ]


def test_an_error_is_a_document_too(tmp_path: Path) -> None:
    status, found = check(tmp_path, MAIN.replace("conf/more.conf", "conf/more.conf\nKeepAlive maybe"), "-t")
    assert (status, found["ok"]) == (1, False)
    assert found["error"]["reason"] == "KeepAlive must be On or Off"
    assert (found["error"]["file"], found["error"]["line"], found["error"]["code"]) == (
        f"{tmp_path}/conf/httpd.conf",
        5,
        "AH00526",
    )


def test_what_the_program_is(tmp_path: Path) -> None:
    assert check(tmp_path, MAIN, "-V")[1]["compatible_with"] == "2.4.71"

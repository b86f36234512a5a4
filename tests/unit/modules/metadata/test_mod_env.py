"""mod_env, observed in response fields.  Every expected value is that of httpd 2.4.71."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.client import fetch_all
from tests.support.engine import build_engine

SHOWN = 'Header always set X "%{A}e|%{B}e"\n'


@pytest.mark.parametrize(
    ("conf", "inner", "outer"),
    [
        ("UnsetEnv A\nSetEnv A 1", "1|(null)", "1|(null)"),
        ("SetEnv A 1\nUnsetEnv A\nSetEnv A 2", "2|(null)", "2|(null)"),
        ("<Location />\nUnsetEnv A\nSetEnv A 1\n</Location>", "1|(null)", "1|(null)"),
        ("<Location />\nSetEnv A 1\nUnsetEnv A\n</Location>", "(null)|(null)", "(null)|(null)"),
        (
            "SetEnv A 1\n<Location />\nUnsetEnv A\n</Location>\n<Location /d>\nSetEnv A 2\n</Location>",
            "2|(null)",
            "(null)|(null)",
        ),
        (
            "SetEnv A 1\n<Location />\nUnsetEnv A\nSetEnv A 3\n</Location>\n<Location /d>\nSetEnv B "
            "2\n</Location>",
            "3|2",
            "3|(null)",
        ),
        (
            "SetEnv A 1\nUnsetEnv A\n<Location /d>\nUnsetEnv A\nSetEnv B 1\nUnsetEnv B\n</Location>",
            "(null)|(null)",
            "(null)|(null)",
        ),
        ('SetEnv A "x\\"y"\nSetEnv B', 'x"y|', 'x"y|'),
        ("SetEnvIf Request_URI . A=1\nSetEnv A 2", "1|(null)", "1|(null)"),
        ("SetEnvIf Request_URI . A\n<Location />\nUnsetEnv A\n</Location>", "1|(null)", "1|(null)"),
    ],
)
def test_what_is_set(tmp_path: Path, conf: str, inner: str, outer: str) -> None:
    found, missing = fetch_all(tmp_path, SHOWN + conf, ["/d/a.txt?x", "/nope"], {"htdocs/d/a.txt": "x"})
    assert (found.get("X"), missing.get("X")) == (inner, outer)
    assert (found.status, missing.status) == (200, 404)


def test_documents_that_are_included_have_them_too(tmp_path: Path) -> None:
    conf = (
        "LoadModule include_module modules/mod_include.so\nSetEnv A 1\nOptions "
        "+Includes\nAddOutputFilter INCLUDES .txt"
    )
    files = {
        "htdocs/d/a.txt": '<!--#include virtual="/d/b.txt" -->',
        "htdocs/d/b.txt": '(<!--#echo var="A" -->)',
    }
    (found,) = fetch_all(tmp_path, conf, ["/d/a.txt"], files)
    assert (found.status, found.body) == (200, "3\r\n(1)\r\n0\r\n\r\n")


def test_pass_env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A", "from outside")
    monkeypatch.delenv("B", raising=False)
    serving = build_engine(tmp_path, SHOWN + "PassEnv A B")
    assert [(m.text, m.code, m.level, m.module) for m in serving.configuration.messages] == [
        ("PassEnv variable B was undefined", "AH01506", "warn", "env"),
    ]
    (reply,) = fetch_all(tmp_path, SHOWN + "PassEnv A B", ["/"])
    assert reply.get("X") == "from outside|(null)"


@pytest.mark.parametrize(("name", "meant"), [("a=b", "a b"), ("a=", "a "), ("=a", "a "), ("a=b=c", "a b=c")])
def test_an_equals_sign_in_a_name_is_told_of(tmp_path: Path, name: str, meant: str) -> None:
    (message,) = build_engine(tmp_path, f"SetEnv {name} v").configuration.messages
    assert (
        message.text
        == f"Spurious usage of '=' in an environment variable name. 'SetEnv {meant}' expected instead?"
    )
    assert (message.code, message.level) == ("AH10032", "warn")

"""mod_setenvif.  Every expected value is that of httpd 2.4.71 for the same lines and the same two
requests.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.client import fetch
from tests.support.engine import build_engine

from whimbrel.base.errors import ConfigError

SHOWN = 'Header always set X "%{A}e|%{B}e|%{C}e"\n'
HEADERS = ("X-Foo: abc", "User-Agent: Mozilla/5", "X-Multi: 1", "X-Multi: 2")
N = "(null)"


@pytest.mark.parametrize(
    ("conf", "with_headers", "bare"),
    [
        (r"SetEnvIf Request_URI ^/(d)/(.*) A=$1-$2 B=$0 C=\$1", "d-a.txt|/d/a.txt|$1", "d-a.txt|/d/a.txt|$1"),
        ("SetEnvIf Remote_Addr 127 A\nSetEnvIf A 1 B=x\nSetEnvIf A ^$ C=y", f"1|x|{N}", f"1|x|{N}"),
        ('SetEnvIf X-Foo ^$ A\nSetEnvIf ^X-.* b B=$0\nSetEnvIf "^X-Q" ^$ C', f"{N}|{N}|1", f"1|{N}|1"),
        ("SetEnvIfNoCase user-agent MOZ A !B C=1\nBrowserMatch Moz B", "1|1|1", f"{N}|{N}|{N}"),
        (
            "SetEnvIf A ^1$ B\nSetEnvIf Request_Method GET A\nSetEnvIf Server_Addr . C=$0",
            f"1|{N}|1",
            f"1|{N}|1",
        ),
        (
            "SetEnvIf Request_Protocol . A=$0\nSetEnvIf Remote_Host . B=[$0]\nSetEnvIf Remote_User . C=$0",
            f"H|[1]|{N}",
            f"H|[1]|{N}",
        ),
        (
            "SetEnv A 1\nSetEnvIf A ^1$ B\n<Location /d>\nSetEnvIf A ^1 C\n</Location>",
            f"1|{N}|{N}",
            f"1|{N}|{N}",
        ),
        ('SetEnvIf Request_URI /d A=$3[$9] B=a&b C="x y"', '$3[$9]|a&b|"x', '$3[$9]|a&b|"x'),
        ('SetEnvIf OID("1.2.3") . A', f"{N}|{N}|{N}", f"{N}|{N}|{N}"),
        ("SetEnvIf X-Multi . A=$0", f"1|{N}|{N}", f"{N}|{N}|{N}"),
        ('SetEnvIf Request_URI "^/d" A=1 =y B', f"1|1|{N}", f"1|1|{N}"),
        ("SetEnvIf Request_URI . A=1\nSetEnvIf A 1 A=2\nSetEnvIf A 2 B", f"2|{N}|{N}", f"2|{N}|{N}"),
        ("SetEnvIf A x B\nSetEnvIf Request_URI . A=1\nSetEnvIf A 1 B", f"1|1|{N}", f"1|1|{N}"),
        (
            r"SetEnvIf Request_URI . a=1" + "\n" + r"SetEnvIf Request_URI ^(.) B=&[$1\$0]",
            f"1|&[/$0]|{N}",
            f"1|&[/$0]|{N}",
        ),
        (
            r'SetEnvIf Request_URI "\.txt" A=$0'
            + '\nSetEnvIfNoCase Request_URI "/D" B=$0\n'
            + r'SetEnvIf Request_URI "\/d" C=$0',
            "$0|$0|/d",
            "$0|$0|/d",
        ),
        ("SetEnvIf ^X-[A-Z] ^(.*)$ A=$1\nSetEnvIf ^x-foo ^(.*)$ B=$1", f"1, 2||{N}", f"||{N}"),
        ("SetEnvIf Request_URI ^/(.)(z)?(y)? A=[$1$2$3$4]", f"[d]|{N}|{N}", f"[d]|{N}|{N}"),
    ],
)
def test_variables(tmp_path: Path, conf: str, with_headers: str, bare: str) -> None:
    serving = build_engine(tmp_path, SHOWN + conf, {"htdocs/d/a.txt": "x"})
    assert fetch(serving, "/d/a.txt", *HEADERS).get("X") == with_headers
    assert fetch(serving, "/d/a.txt?x").get("X") == bare


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("SetEnvIf", "Missing header-field name for SetEnvIf"),
        ("SetEnvIf Request_URI", "Missing regular expression for SetEnvIf"),
        ('SetEnvIf A "" B', "Missing regular expression for SetEnvIf"),
        ("SetEnvIfNoCase Host x", "Missing envariable expression for SetEnvIfNoCase"),
        ("SetEnvIf User-Agent ( x", "SetEnvIf regex could not be compiled."),
        ("SetEnvIf [ x y", "SetEnvIfHeader name regex could not be compiled."),
        ("SetEnvIf OID(2.5 x y", "SetEnvIfHeader name regex could not be compiled."),
        ("BrowserMatch", "Missing regular expression for BrowserMatch"),
        ("BrowserMatchNoCase ( x", "BrowserMatchNoCase regex could not be compiled."),
        ("SetEnvIfExpr", "Missing expression for SetEnvIfExpr"),
        ("SetEnvIfExpr true", "Missing envariable expression for SetEnvIfExpr"),
    ],
)
def test_refused(tmp_path: Path, line: str, reason: str) -> None:
    with pytest.raises(ConfigError) as caught:
        build_engine(tmp_path, line)
    assert caught.value.reason == reason

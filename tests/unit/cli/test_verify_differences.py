"""`whimbrel verify`: a comment of the new text records that a person has looked at what is not decided."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from whimbrel.cli import verify
from whimbrel.cli.verify_differences import open_difference
from whimbrel.verify.answer import DECIDES, DecidingLine
from whimbrel.verify.causes import Cause
from whimbrel.verify.verification import DifferenceGroup, VerifyResult

TEXT = """ServerRoot "{root}"
Listen 127.0.0.1:8080
ServerName a.example
<IfModule !mod_version.c>
    LoadModule version_module modules/mod_version.so
</IfModule>
<IfVersion >= 2.4>
    LoadModule unixd_module modules/mod_unixd.so
    LoadModule mpm_event_module modules/mod_mpm_event.so
    LoadModule authz_core_module modules/mod_authz_core.so
</IfVersion>
LoadModule setenvif_module modules/mod_setenvif.so
DocumentRoot "{root}/htdocs"
DefaultType None
"""
LINE = "SetEnvIf Request_Protocol ^SPDY x=1\n"
"""No client sends the protocol, so that no request shows the line."""
COMMENT = "# whimbrel: ignore[DIFF]\n"


def test_a_comment_decides_about_a_line_that_no_request_shows(tmp_path: Path) -> None:
    for name in ("conf", "logs", "htdocs"):
        (tmp_path / name).mkdir()
    text = TEXT.format(root=tmp_path)
    old, new = (tmp_path / "conf" / name for name in ("old.conf", "new.conf"))
    old.write_text(text)

    def compared(content: str) -> tuple[int, str]:
        new.write_text(content)
        found = CliRunner().invoke(verify.app, [str(old), str(new)])
        return found.exit_code, found.stdout

    status, output = compared(f"{text}{LINE}")
    assert status == 3 and "ignore[DIFF] above its line" in output, output
    status, output = compared(f"{text}{COMMENT}{LINE}")
    assert status == 0, output
    ready = next(one for one in output.splitlines() if one.startswith("ready for 2.4: yes: "))
    number = len(text.splitlines()) + 2
    assert "1 unknown fact decided in the text: DIFF at " in ready
    assert ready.endswith(f"conf/new.conf:{number}")
    assert compared(f"{COMMENT}{text}{LINE}")[0] == 3  # at another line


def test_the_first_line_is_one_that_the_report_calls_deciding() -> None:
    order = DecidingLine("/a/.htaccess", 7, "Order deny,allow")
    satisfy = DecidingLine("/a/.htaccess", 6, "Satisfy any", DECIDES)
    group = DifferenceGroup("access", Cause((), (satisfy, order)), lines=((), (order,)))
    sentence = open_difference(VerifyResult(groups=[group])).sentence
    assert sentence.startswith("look at difference 1 (/a/.htaccess:6)")


def test_what_keeps_24_from_starting_comes_first() -> None:
    """No answer of 2.4 matters before it starts."""
    line = DecidingLine("a.conf", 3, "AddHandler x .x", DECIDES)
    group = DifferenceGroup("response", Cause((), (line,)))
    questions = (("C06 foreign-modules", "a.conf:1", "Is m.so built for 2.4?", ""),)
    for has_stop in (True, False):
        result = VerifyResult(groups=[group], questions=questions, has_stop=has_stop)
        sentence = open_difference(result).sentence
        assert sentence.startswith("decide C06 at a.conf:1: 2.4 does not start") is has_stop
        assert "look at difference 1 (a.conf:3), the first that is open" in sentence

"""Code frames of findings."""

from __future__ import annotations

import re
import time

import pytest
from tests.support.samples import amount

from whimbrel.base.lazy_dataclasses import replace
from whimbrel.report.formats.frames import MAX_CODE, MAX_FRAME_LINES, FrameStyle, frame, framed
from whimbrel.report.model import ReportEntry, groups
from whimbrel.upgrade.edits.frame_lines import FrameLine
from whimbrel.upgrade.model import OtherLines, Risk

SECTION = ReportEntry(
    "C17",
    "conf/httpd.conf",
    74,
    "2.4 has no Order or Deny without mod_access_compat",
    "nobody gains or loses access",
    Risk.BREAKS,
    is_fixable=True,
    text="<Directory />",
    old=((77, "Order deny,allow"), (78, "Deny from all")),
    new=("Require all denied",),
)
NAMES = {"C17": "order-allow-deny"}


def test_the_section_its_old_lines_and_the_new_text() -> None:
    assert list(frame([SECTION], FrameStyle(names=NAMES))) == [
        "conf/httpd.conf:74  C17 order-allow-deny  breaks start-up · changed by upgrade",
        "   74  | <Directory />",
        "   77 -| Order deny,allow",
        "       | ^^^^^ 2.4 has no Order or Deny without mod_access_compat",
        "   78 -| Deny from all",
        "      +| Require all denied",
        "       = nobody gains or loses access",
    ]


def test_an_applied_change_is_not_repeated() -> None:
    entry = ReportEntry(
        *("C17", "a", 3, "x"),
        text="Order a,b",
        needs_review=True,
        is_fixable=True,
        old=((3, "Order a,b"),),
        new=("y",),
    )
    assert list(frame([entry], FrameStyle(), is_applied=True)) == [
        "a:3  C17  changes answers · changed, needs review",
        "    3  | Order a,b",
        "       | ^^^^^ x",
    ]


def test_behind_an_edit_the_effect_is_what_stays() -> None:
    # the new text starts, so that the effect of the old one is gone
    entry = replace(SECTION, needs_review=True, stays=Risk.OPENS)
    header, *_ = frame([entry], FrameStyle(names=NAMES), is_applied=True)
    assert header == "conf/httpd.conf:74  C17 order-allow-deny  opens access · changed, needs review"


def test_a_line_behind_which_text_is_written_has_no_marks() -> None:
    entry = ReportEntry("C05", "a", 4, "mod_x is not loaded", text="Listen 80", new=("LoadModule x",))
    assert list(frame([entry], FrameStyle()))[1:] == [
        "    4  | Listen 80",
        "       | mod_x is not loaded",
        "      +| LoadModule x",
    ]


@pytest.mark.parametrize(
    ("text", "new", "message", "marks"),
    [
        ("SSLProtocol all -SSLv2", ("SSLProtocol all",), "x", "                ^^^^^^"),
        ("MaxClients 150", ("MaxRequestWorkers 150",), "x", "^^^^^^^^^^"),
        ("SSLProtocol +SSLv2 +TLSv1", (), "SSLv2 is gone", "            ^^^^^^"),
        ("Größe".encode().decode("latin-1") + " SSLv2", (), "SSLv2 is gone", "      ^^^^^"),
        ("ErrorLog logs/e", (), "lines look different", "^^^^^^^^"),
    ],
)
def test_the_words_that_it_is_about_are_marked(
    text: str, new: tuple[str, ...], message: str, marks: str
) -> None:
    old = ((1, text),) if new else ()
    lines = list(frame([ReportEntry("C42", "a", 1, message, text=text, old=old, new=new)], FrameStyle()))
    assert lines[2] == f"       | {marks} {message}"


@pytest.mark.parametrize("width", [20, 80, 200])
@pytest.mark.parametrize("is_colored", [False, True])
def test_lines_fit_the_terminal_and_words_stay_whole(width: int, is_colored: bool) -> None:
    lines = list(frame([SECTION], FrameStyle(width, is_colored, NAMES)))
    plain = [re.sub(r"\x1b\[[\d;]*m", "", line) for line in lines]
    assert any("\x1b[" in line for line in lines) is is_colored
    header, *plain = plain  # one line at every width: a search for its place shows the rule and the risk
    assert "conf/httpd.conf:74  C17 order-allow-deny  breaks start-up" in header
    for line in plain:
        assert len(line) <= width or len(line.lstrip(" 0123456789|=+-").split()) == 1, line
    assert {"mod_access_compat"} <= set(" ".join(plain).split())


def test_hostile_text_is_escaped_and_cut() -> None:
    entry = ReportEntry("C17", "a\x1b[2J", 1, "m\x07[red]\n" + "x" * 10**6, text="Or\x9bder " + "y" * 10**6)
    lines = list(frame([entry], FrameStyle()))
    text = "\n".join(lines)
    assert "a\\x1b[2J:1" in text and "m\\x07[red]\\x0ax" in text and "Or\\x9bder y" in text
    assert not set(text) & {"\x1b", "\x07", "\x9b"}
    assert len(text) < 5000 and max(len(line) for line in lines if "Or" in line) <= MAX_CODE + 10


def test_time_is_linear_in_the_findings() -> None:
    many = amount(5_000, 20_000)
    entries = [
        ReportEntry("C17", "a.conf", line, f"message {line}", "advice", Risk.BREAKS, text=f"Order {line}")
        for line in range(many)
    ]
    start = time.monotonic()
    count = sum(1 for _ in framed(groups(entries), FrameStyle(80, True, NAMES)))
    assert count >= 4 * many and time.monotonic() - start < 30


def test_the_line_that_the_message_names_is_marked() -> None:
    """The section around it is rewritten with it, and a line without words is removed."""
    lines = (
        FrameLine("", 1, "<Directory /a>"),
        FrameLine("-", 2, "<LimitExcept GET POST HEAD>"),
        FrameLine("-", 3, ""),
        FrameLine("-", 4, "Order allow,deny"),
        FrameLine("-", 5, "Deny from all"),
        FrameLine("+", 0, "<LimitExcept GET HEAD POST>"),
        FrameLine("+", 0, "Require all denied"),
    )
    old = tuple((line.number, line.text) for line in lines if line.sign == "-")
    new = tuple(line.text for line in lines if line.sign == "+")
    message = "2.4 has no Order or Deny without mod_access_compat"
    entry = ReportEntry(
        "C17", "a", 1, message, text="<Directory /a>", is_fixable=True, old=old, new=new, lines=lines
    )
    shown = list(frame([entry], FrameStyle(80)))
    at = next(number for number, line in enumerate(shown) if message in line)
    assert shown[at].split() == ["|", "^^^^^", *message.split()]
    assert shown[at - 1].split() == ["4", "-|", "Order", "allow,deny"]


def test_the_line_of_the_place_is_in_a_long_frame() -> None:
    """Whatever stands before it: a frame is cut off where the finding is not."""
    before = [FrameLine("-", at, f"Line {at}") for at in range(1, 60)]
    own = [FrameLine("-", 60, "DefaultType a/b"), FrameLine("+", 0, "Header set X")]
    after = [FrameLine("", at, "Listen 80") for at in range(61, 100)]
    old = tuple((line.number, line.text) for line in (*before, own[0]))
    entry = ReportEntry("C13", "a", 60, "it is gone", old=old, lines=(*before, *own, *after))
    assert list(frame([entry], FrameStyle()))[1:6] == [
        "  ...  | 59 more lines",
        "   60 -| DefaultType a/b",
        "       | ^^^^^^^^^^^ it is gone",
        "      +| Header set X",
        "   61  | Listen 80",
    ]
    assert len(list(frame([entry], FrameStyle()))) == MAX_FRAME_LINES + 4


def test_lines_of_another_file_stand_below_its_place() -> None:
    """What the upgrade writes into the main file is no part of the included one that the finding is in."""
    entry = replace(
        SECTION,
        new=("Require all denied", "LoadModule a_module a.so", "Require all denied"),
        elsewhere=(
            OtherLines("conf/main.conf", 3, ("Old a",), ("LoadModule a_module a.so", "Require all denied")),
        ),
    )
    assert entry.own_new == ("Require all denied",)
    assert list(frame([entry], FrameStyle(names=NAMES)))[4:] == [
        "   78 -| Deny from all",
        "      +| Require all denied",
        "       | in conf/main.conf:3:",
        "      -| Old a",
        "      +| LoadModule a_module a.so",
        "      +| Require all denied",
        "       = nobody gains or loses access",
    ]

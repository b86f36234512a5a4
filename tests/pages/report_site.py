"""A site whose four reports are shown: the example of 2.2, upgraded with four mistakes, and a log."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from typer.testing import CliRunner

from whimbrel.cli import check, replay, upgrade, verify
from whimbrel.cli.example import SITE, copy_site

MISTAKES: Final = (
    ("Require ip 192.168.7.0/24 10.7", "Require ip 192.168.0.0/16 10.7"),
    ("Require not env unwanted", ""),
    ("Require ip 127.0.0.1 ::1", "Require ip 10.7.0.1"),
    ("max-age=3600", "max-age=60"),
)
PATHS: Final = (
    "/",
    "/birds/",
    "/downloads/",
    "/colony/",
    "/server-status",
    "/guestbook",
    "/cgi-bin/x",
    "/none",
)
CLIENTS: Final = ("10.7.0.1", "192.168.3.9", "127.0.0.1", "203.0.113.7")


def run(app: object, *words: str | Path) -> str:
    """Return what a command prints on standard output."""
    result = CliRunner().invoke(app, [*map(str, words)])  # type: ignore[arg-type]
    assert result.exit_code in (0, 1, 3), result.output
    return result.stdout


def write_log(path: Path) -> None:
    """Write a log of two days, with quiet nights."""
    lines = []
    for hour in range(48):
        for at in range(20 + 8 * min(hour % 24, 24 - hour % 24)):
            target = PATHS[at * 7 % 11 % len(PATHS)]
            client = CLIENTS[(at + hour) % len(CLIENTS)]
            day = f"{22 + hour // 24}/Nov/2026:{hour % 24:02}:{at % 60:02}:00 +0000"
            status = 403 if target == "/server-status" else 200
            lines.append(f'{client} - - [{day}] "GET {target} HTTP/1.1" {status} 2326 "-" "Mozilla/5.0"')
    path.write_text("\n".join([*lines, "<script>document.title='ran'</script>"]) + "\n")


def report_pages(base: Path) -> dict[str, str]:
    """Return the pages of check, upgrade, verify and replay by name; files are written below *base*."""
    old = base / "old"
    new = base / "new"
    copy_site(old)
    pages = {"check": run(check.app, "-d", SITE, "--format", "html")}  # its variables are not defined
    pages["upgrade"] = run(upgrade.app, "-d", old, "--format", "html")
    run(upgrade.app, "-d", old, "--out", new, "--no-verify")
    host = new / "conf/vhosts/10-www.conf"
    text = host.read_text()
    for right, wrong in MISTAKES:
        assert right in text
        text = text.replace(right, wrong)
    host.write_text(text)
    pages["verify"] = run(verify.app, old, new, "--format", "html")
    write_log(base / "access_log")
    sides = ("--old", old, "--new", new, "--host", "heronbay.example", "-j", "1")
    pages["replay"] = run(replay.app, base / "access_log", *sides, "--format", "html")
    return pages

"""whimbrel fmt and whimbrel directives as commands."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from whimbrel.cli import directives, fmt

UGLY, PRETTY = (
    "<directory />\norder allow,deny\n</directory>\n",
    "<Directory />\n    Order allow,deny\n</Directory>\n",
)


def test_a_file_is_written_anew_and_keeps_its_mode(tmp_path: Path) -> None:
    path, link = tmp_path / "a.conf", tmp_path / "link.conf"
    path.write_text(UGLY)
    path.chmod(0o640)
    link.symlink_to("a.conf")
    assert CliRunner().invoke(fmt.app, [str(link)]).exit_code == 0
    assert path.read_text() == PRETTY
    assert path.stat().st_mode & 0o777 == 0o640
    assert link.is_symlink()
    assert os.listdir(tmp_path) == ["a.conf", "link.conf"] or sorted(os.listdir(tmp_path)) == [
        "a.conf",
        "link.conf",
    ]


def test_check_names_the_file_and_leaves_it(tmp_path: Path) -> None:
    path = tmp_path / "a.conf"
    path.write_text(UGLY)
    asked = CliRunner().invoke(fmt.app, ["--check", str(tmp_path)])
    assert asked.exit_code == 1
    assert str(path) in asked.output
    assert path.read_text() == UGLY
    path.write_text(PRETTY)
    assert CliRunner().invoke(fmt.app, ["--check", str(tmp_path)]).exit_code == 0


def test_standard_input() -> None:
    assert CliRunner().invoke(fmt.app, ["-"], input=UGLY).stdout == PRETTY


def test_a_missing_file_is_one_message(tmp_path: Path) -> None:
    asked = CliRunner().invoke(fmt.app, [str(tmp_path / "no.conf")])
    assert asked.exit_code == 2
    assert asked.output.count("\n") == 1


def test_directives_without_behaviour_are_listed() -> None:
    found = json.loads(CliRunner().invoke(directives.app, ["--json"]).stdout)
    names = {(one["module"], one["directive"]): one["left_out"] for one in found}
    assert names["mod_ssl.c", "SSLSRPVerifierFile"] == ""
    assert ("mod_ssl.c", "SSLProtocol") not in names
    assert ("core.c", "ServerName") not in names


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x7fELF\x02\x01\x01\0\0\0", "line 1: the file is binary, no text"),
        (UGLY.encode("utf-16"), "line 1: the text is UTF-16, which httpd does not read"),
        (UGLY.encode("utf-16-be"), "line 1: the text is UTF-16, which httpd does not read"),
        (
            b"server {\n  listen 80;\n  location / {\n }\n}\n",
            "line 1: this text is no configuration of httpd: hardly a line begins with a directive",
        ),
        (f"order {{{{ order }}}}\n{UGLY}".encode(), "line 1: a template: another program writes the"),
        (UGLY.encode() + b"<Files x>\norder allow,deny\n", "line 4: <Files> is not closed"),
        (UGLY.encode() + b"AlowOverride None\n", "line 4: AlowOverride is no directive of httpd"),
    ],
    ids=["elf", "utf-16", "utf-16-be", "nginx", "template", "unclosed", "misspelled"],
)
def test_text_that_is_not_of_httpd_is_left_as_it_is(tmp_path: Path, data: bytes, reason: str) -> None:
    path = tmp_path / "a.conf"
    path.write_bytes(data)
    other = tmp_path / "b.conf"
    other.write_text(UGLY)
    asked = CliRunner().invoke(fmt.app, [str(tmp_path)])
    assert asked.exit_code == 2
    assert asked.stderr.startswith(f"{path}: left as it is: {reason}") and asked.stderr.count("\n") == 1
    assert path.read_bytes() == data
    assert other.read_text() == PRETTY
    piped = CliRunner().invoke(fmt.app, ["-"], input=data)
    assert (piped.exit_code, piped.stdout_bytes) == (2, data)


# A control character of ISO 8859 as one byte and in UTF-8; bytes of it within other characters of UTF-8.
NAMES = [
    (b"a\x9b31m.conf", b"a\\x9b31m.conf"),
    (b"a\xc2\x9b31m.conf", b"a\\xc2\\x9b31m.conf"),
    (b"a\n\x1b[2J.conf", b"a\\x0a\\x1b[2J.conf"),
    (b"\xc3\x9b \xe2\x82\x9b \xe9.conf", b"\xc3\x9b \xe2\x82\x9b \xe9.conf"),
]


@pytest.mark.parametrize(("name", "shown"), NAMES)
def test_names_are_bytes_in_each_line(tmp_path: Path, name: bytes, shown: bytes) -> None:
    path = Path(os.fsdecode(os.path.join(os.fsencode(tmp_path), name)))
    lines = []
    for text, options in (("<If a\n", ()), (UGLY, ("--diff",)), (UGLY, ("--check",)), (UGLY, ())):
        path.write_text(text)
        lines.append(CliRunner().invoke(fmt.app, [*options, str(path)]).output_bytes)
    path.unlink()
    lines.append(CliRunner().invoke(fmt.app, [str(path)]).output_bytes)
    assert all(line.count(b"/" + shown) == 1 + (b"+++" in line) for line in lines), lines
    assert [line.count(b"\n") for line in lines] == [1, 9, 1, 1, 1]


def test_a_diff_is_printed_and_the_file_left(tmp_path: Path) -> None:
    path = tmp_path / "a.conf"
    path.write_text(UGLY)
    asked = CliRunner().invoke(fmt.app, ["--diff", str(path)])
    assert asked.exit_code == 1
    assert path.read_text() == UGLY
    changed = [line for line in asked.stdout.splitlines() if line[:1] in "+-"]
    assert changed[2:] == [
        *(f"-{line}" for line in UGLY.splitlines()),
        *(f"+{line}" for line in PRETTY.splitlines()),
    ]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory to another user")
@pytest.mark.parametrize("named", ["tree/conf.d", "tree/conf.d/a.conf", "tree"])
@pytest.mark.parametrize("is_before", [True, False])
def test_a_directory_that_its_owner_replaces_by_a_link(
    named: str, is_before: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the command, or between its look at the file and its write, which would be of the same bytes."""
    tree, victims = tmp_path / "tree", tmp_path / "victims"
    for directory in (tree / "conf.d", victims):
        directory.mkdir(parents=True)
        (directory / "a.conf").write_text(UGLY)
    for path in (tree, tree / "conf.d", tree / "conf.d/a.conf"):
        os.chown(path, 65534, 65534)

    def swap() -> None:
        (tree / "conf.d").rename(tree / "moved")
        (tree / "conf.d").symlink_to(victims)
        os.chown(tree / "conf.d", 65534, 65534, follow_symlinks=False)

    def refusal_of(_data: bytes) -> str:
        swap()
        return ""

    if is_before:
        swap()
    else:
        monkeypatch.setattr(fmt, "refusal_of", refusal_of)
    CliRunner().invoke(fmt.app, [str(tmp_path / named)])
    assert (victims / "a.conf").read_text() == UGLY

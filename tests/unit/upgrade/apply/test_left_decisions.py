"""What an upgrade leaves to a person is named by the commands behind it, until it is decided."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from whimbrel.cli import check, upgrade, verify
from whimbrel.upgrade.apply.journal import WriteError
from whimbrel.upgrade.apply.left_decisions import FoundDecision, LeftDecision, findings_left
from whimbrel.upgrade.apply.transaction import undo
from whimbrel.upgrade.model import Finding, Risk
from whimbrel.verify.answer import DECIDES, DecidingLine
from whimbrel.verify.recorded_decisions import by_place, decisions

LEFT = "left by upgrade to decide: "
OPTIONS = "<Directory />\nOptions None\nAllowOverride None\n</Directory>\n"
MAIN = "/nowhere/httpd.conf"
COMMENT = "# whimbrel: ignore[C17]"
TEXT = """\
<Files .ht>
Require all denied
</Files>
<Directory /a>
Order deny,allow
<LimitExcept GET>
Require all denied
</LimitExcept>
</Directory>
<Location />
Allow from all
</Location>"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    site = tmp_path / "web1"
    for name in ("conf", "logs", "htdocs"):
        (site / name).mkdir(parents=True)
    (site / "conf/httpd.conf").write_text(
        f'ServerRoot "{site}"\nServerName a.example\nListen 8080\nDefaultType none\n{OPTIONS}'
        f'DocumentRoot "{site}/htdocs"\n'
    )
    return site


def run(app: object, *words: str | Path) -> tuple[int, str]:
    result = CliRunner().invoke(app, [*map(str, words)])  # type: ignore[arg-type]
    return result.exit_code, result.output


def change(main: Path, old: str, new: str) -> None:
    text = main.read_text()
    assert old in text, text
    main.write_text(text.replace(old, new, 1))


@pytest.mark.parametrize("where", ["--write", "--out", "image"])
def test_a_question_stays_open_until_a_comment_records_it(root: Path, tmp_path: Path, where: str) -> None:
    is_copy = where != "--write"
    new = tmp_path / "new" if is_copy else root
    way = ["--out", new] if is_copy else ["--write"]
    if where == "image":
        place = tmp_path / "image" / str(root)[1:]
        shutil.copytree(root, place)
        new = new / str(root)[1:]
        root = place
    code, output = run(upgrade.app, "-d", root, *way)
    assert code == 3 and "Do ETags need the inode" in output, output
    main = new / "conf/httpd.conf"
    compared = ["-d", new, "--backups"] if not is_copy else [root, new]
    for app, words in ((check.app, ["-d", new]), (verify.app, compared)):
        code, output = run(app, *words)
        assert code != 0 and f"{LEFT}Do ETags need the inode" in output, output
        assert "no: write FileETag MTime Size, the default of 2.4, with # whimbrel: ignore[DIFF]" in output
        assert f"{LEFT}Has the 2.2 binary the modules" in output, output
    code, output = run(upgrade.app, "-d", new)
    assert code == 3 and f"{LEFT}Do ETags need the inode" in output, output
    change(main, "FileETag", "# whimbrel: ignore[C11]\nFileETag")
    code, output = run(check.app, "-d", new)
    assert "ETags" not in output and LEFT in output, output
    change(main, "ServerRoot", "# whimbrel: ignore[C04]\nServerRoot")
    code, output = run(check.app, "-d", new)
    assert (code, LEFT in output) == (0, False), output
    assert (f"Next: whimbrel verify --backups -d {new}" in output) is not is_copy, output


@pytest.mark.parametrize("is_image", [True, False], ids=["image", "server"])
def test_a_tree_that_was_copied_or_moved_keeps_its_decisions(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_image: bool
) -> None:
    """The same text at another place is checked as before; another text is not that tree."""
    inside = str(root)[1:] if is_image else "."
    if is_image:
        shutil.copytree(root, tmp_path / "image" / inside)
        root = tmp_path / "image" / inside
    new = tmp_path / "new"
    run(upgrade.app, "-d", root, "--out", new)
    change(new / inside / "conf/httpd.conf", "FileETag", "# whimbrel: ignore[C11]\nFileETag")
    before = run(check.app, "-d", new / inside)[1]
    assert "ETags" not in before and LEFT in before, before
    shutil.copytree(new, tmp_path / "copy", symlinks=True)
    new.rename(tmp_path / "moved")
    for name in ("copy", "moved"):
        place = tmp_path / name / inside
        output = run(check.app, "-d", place)[1]
        assert f"{LEFT}Has the 2.2 binary the modules" in output and "ETags" not in output, output
    other = tmp_path / "copy" / inside / "conf/httpd.conf"
    other.write_text(f"Listen 8081\n# whimbrel: ignore[C11]\nFileETag All\n{OPTIONS}")
    assert LEFT not in run(check.app, "-d", tmp_path / "copy" / inside)[1]
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "of_another_user"))
    assert LEFT not in run(check.app, "-d", tmp_path / "moved" / inside)[1]


def test_a_line_that_upgrade_left_alone_is_not_to_be_corrected(tmp_path: Path) -> None:
    """X02 asks at the DocumentRoot line and writes Options into the main file: that line has no fault."""
    site = str(tmp_path / "site.conf")
    line = "DocumentRoot /a"
    values = "X02", site, 1, "m", "a", Risk.CHANGES.value, "May it?", (), (line,), (line,), True
    for is_elsewhere, answer in ((True, "what it wrote in other files"), (False, f"`{line}`")):
        left = LeftDecision(*values, is_elsewhere=is_elsewhere)
        (found,) = findings_left([left], [site], lambda _path: f"{line}\n".encode())
        assert found.finding.answers[1] == f"no: correct {answer} by hand"


def test_another_line_is_a_decision(root: Path) -> None:
    run(upgrade.app, "-d", root, "--write")
    change(root / "conf/httpd.conf", "FileETag INode MTime Size\n", "")
    assert "ETags" not in run(check.app, "-d", root)[1]


def test_an_undone_upgrade_leaves_nothing(root: Path) -> None:
    run(upgrade.app, "-d", root, "--write")
    run(upgrade.app, "-d", root, "--undo")
    assert LEFT not in run(check.app, "-d", root)[1]


@pytest.mark.parametrize("change", ["", "# a comment\n"])
def test_a_tree_that_was_put_back_is_not_an_upgraded_one(root: Path, change: str) -> None:
    """The journal is found by the path of the tree: its digests tell whether the tree is that one."""
    before = root.with_name("before")
    shutil.copytree(root, before)
    run(upgrade.app, "-d", root, "--write")
    assert LEFT in run(check.app, "-d", root)[1]
    shutil.rmtree(root)
    shutil.copytree(before, root)
    main = root / "conf/httpd.conf"
    main.write_text(main.read_text() + change)
    for app in (check.app, upgrade.app):
        assert LEFT not in run(app, "-d", root)[1]
    with pytest.raises(WriteError, match="is missing" if change else "no upgrade to undo"):
        undo(str(root))


def test_an_upgraded_tree_without_backups_keeps_its_questions(root: Path) -> None:
    run(upgrade.app, "-d", root, "--write")
    for backup in root.rglob("*.whimbrel-2.2~"):
        backup.unlink()
    main = root / "conf/httpd.conf"
    main.write_text("# a comment\n" + main.read_text())
    assert LEFT in run(check.app, "-d", root)[1]


def test_comments_in_htaccess_files_of_a_copy_are_read(root: Path, tmp_path: Path) -> None:
    """`verify` looks for open findings in the files of the copy, not in those that they are copies of."""
    rule = "RewriteEngine On\nRewriteRule ^old/(.*)$ /new/$1 [R=301,L]\n"
    (root / "htdocs/.htaccess").write_text(rule)
    main = root / "conf/httpd.conf"
    load = "LoadModule rewrite_module modules/mod_rewrite.so\n"
    section = f'<Directory "{root}/htdocs">\nAllowOverride All\nOptions FollowSymLinks\n</Directory>\n'
    main.write_text(f"{main.read_text()}{load}{section}")
    new = tmp_path / "new"
    run(upgrade.app, "-d", root, "--out", new)
    copy = new / "htdocs/.htaccess"
    asked = "May URLs of"
    assert asked in run(verify.app, root, new, "--limit", "100")[1]
    copy.write_text(rule.replace("RewriteRule", "# whimbrel: ignore[R01]\nRewriteRule"))
    output = run(verify.app, root, new, "--limit", "100")[1]
    assert asked not in output and "decided in the text: R01 at " in output, output


@pytest.mark.parametrize(
    ("old", "new", "is_decided"),
    [
        ("Order deny,allow\nAllow from all\n", "Require all denied\n", True),
        ("Order deny,allow\nDeny from all\n", "Require all granted\n", False),
    ],
)
def test_a_comment_in_a_copy_decides_that_clients_lose_access(
    root: Path, tmp_path: Path, old: str, new: str, is_decided: bool
) -> None:
    """No journal is found at the path of a copy. That a client gains access, no comment alone decides."""
    main = root / "conf/httpd.conf"
    text = main.read_text().replace("DefaultType none\n", "")
    section = f'<Directory "{root}/htdocs">\n{{}}</Directory>\n'
    main.write_text(text + section.format(old))
    copy = tmp_path / "copy"
    shutil.copytree(root, copy)
    loads = "LoadModule authz_core_module modules/mod_authz_core.so\n"
    new_text = f"{loads}{text}{section.format(f'# whimbrel: ignore[C17]{chr(10)}{new}')}"
    (copy / "conf/httpd.conf").write_text(new_text.replace(str(root), str(copy)))
    output = run(verify.app, root, copy, "--limit", "200")[1]
    assert "access control: " in output, output
    assert ("decided in the text: C17 at " in output) is is_decided, output


def left(line: int, section: str, about: tuple[str, ...], risk: Risk = Risk.CLOSES) -> LeftDecision:
    return LeftDecision(
        "C17", MAIN, line, "m", "a", risk.value, "May it?", (), about, (), is_written=True, section=section
    )


@pytest.mark.parametrize("at", [10, 12, 13, 14])
def test_a_flag_of_a_damaged_journal_is_refused(at: int) -> None:
    row: list[object] = [list(one) if isinstance(one, tuple) else one for one in left(1, "", ("a",))]
    assert LeftDecision.load(row) == left(1, "", ("a",))
    row[at] = [[]]
    with pytest.raises(TypeError, match="flag"):
        LeftDecision.load(row)


def found(text: str, one: LeftDecision) -> FoundDecision:
    (result,) = findings_left([one], [MAIN], lambda _path: text.encode())
    return result


def decided(findings: tuple[Finding, ...], *lines: int, wanted: Risk = Risk.CLOSES) -> bool:
    deciding = [DecidingLine(MAIN, line, "", DECIDES) for line in lines]
    places = [(one.path, one.line) for one in deciding]
    return bool(decisions(places, "", [wanted], by_place(findings)))


def test_a_comment_decides_about_the_lines_written_in_its_section() -> None:
    one = left(4, "<Directory /a>", ("Order deny,allow", "Require all denied"))
    assert not found(TEXT, one).is_exempt
    result = found(TEXT.replace("Order", f"{COMMENT}\nOrder"), one)
    assert result.is_exempt
    assert decided(result.covered, 6) and decided(result.covered, 8) and decided(result.covered, 6, 8)
    assert not decided(result.covered, 2)  # the same words in another section
    assert not decided(result.covered, 8, 12)
    assert not decided(result.covered, 8, wanted=Risk.OPENS)


def test_equal_lines_of_another_section_record_nothing() -> None:
    one = left(4, "<Directory /a>", ("Require all denied",))
    assert not found(TEXT.replace("Require", f"{COMMENT}\nRequire", 1), one).is_exempt


def test_a_comment_above_a_section_decides_about_its_lines() -> None:
    one = left(10, "<Location />", ("<Location />",))._replace(is_written=False)
    result = found(TEXT.replace("<Location", f"{COMMENT}\n<Location"), one)
    assert decided(result.covered, 12)
    assert not decided(result.covered, 2) and not decided(result.covered, 8)


def test_a_comment_without_a_rule_decides_nothing() -> None:
    one = left(1, "<Files .ht>", ("Require all denied",))
    result = found(TEXT.replace("Require", "# whimbrel: ignore\nRequire", 1), one)
    assert result.is_exempt and not result.covered


@pytest.mark.parametrize("is_written", [True, False])
def test_lines_that_upgrade_wrote_stop_no_start(is_written: bool) -> None:
    """`Order` without mod_access_compat ends the start of 2.4 (mod_authz_core alone reads Require): with the
    written Require line it starts.
    """
    one = left(1, "<Files .ht>", ("Require all denied",), Risk.BREAKS)._replace(is_written=is_written)
    assert (found(TEXT, one).finding.risk is Risk.BREAKS) is not is_written


def test_a_written_line_that_a_person_replaced_is_decided() -> None:
    """Of the lines that `upgrade` wrote one is left alike: the question is about none of the others."""
    one = left(4, "<Directory /a>", ("Order deny,allow", "Require all denied"))
    assert list(findings_left([one], [MAIN], lambda _path: TEXT.encode()))
    text = TEXT.replace("Order deny,allow", "Require ip 192.0.2.1")
    assert not list(findings_left([one], [MAIN], lambda _path: text.encode()))


@pytest.mark.parametrize("section", ["", "<IfModule mod_mime.c>"])
def test_a_comment_above_written_lines_decides_about_the_line_beside_them(section: str) -> None:
    about = "<Directory />", "SSILegacyExprParser On", "</Directory>"
    filter_line = "AddOutputFilter INCLUDES .shtml"
    one = left(2, section, about)._replace(adjacent=(filter_line,))
    lines = [filter_line, "", COMMENT, *about, "AddType text/html .shtml", filter_line]
    if section:
        lines = [section, *lines[:-1], "</IfModule>", filter_line]
    result = found("\n".join(lines), one)
    assert decided(result.covered, 1 + bool(section))
    assert not decided(result.covered, 7 + bool(section))
    assert not decided(result.covered, 8 + 2 * bool(section))

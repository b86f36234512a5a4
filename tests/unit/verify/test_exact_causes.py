"""Differences between the versions: the lines without which both answer alike, or that no line decides."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.verify.sites import make_root, side

from whimbrel.verify import exact_causes as module
from whimbrel.verify.causes import Cause, Causes
from whimbrel.verify.config_lines import ConfigLine, SideLines
from whimbrel.verify.coverage.without_line import RemovalBudget
from whimbrel.verify.difference import Difference, FieldDifference, compare
from whimbrel.verify.exact_causes import ExactCauses, _paired
from whimbrel.verify.located_causes import NOT_FOUND, UNCHECKED
from whimbrel.verify.probe import Probe
from whimbrel.verify.side import Side
from whimbrel.verify.verification import DifferenceGroup
from whimbrel.verify.verify import verify

OLD = """<Directory />
Order allow,deny
Allow from all
</Directory>
FileETag INode MTime Size
"""
NEW = """<Directory />
Require all granted
</Directory>
FileETag INode MTime Size
Header set Content-Type "text/plain" "expr=-z %{CONTENT_TYPE}"
RequestReadTimeout header=0 body=0
"""
CHARSET = "AddDefaultCharset UTF-8\n"
DEFLATE = "AddOutputFilterByType DEFLATE text/html\n"
MODULES = ("authz_core", "authz_host", "mime", "dir", "headers", "deflate", "filter", "rewrite", "alias")
MODULES_22 = tuple(name for name in MODULES if name != "authz_core")


def groups(root: Path, old: str, new: str) -> list[DifferenceGroup]:
    """Return the differences of a text of 2.2 and one of 2.4."""
    make_root(root)
    sides = (
        side(root, "old", OLD + old, "2.2", "reqtimeout", *MODULES_22),
        side(root, "new", NEW + new, "2.4", "reqtimeout", *MODULES),
    )
    for one in sides:
        assert one.is_loaded, one.errors[0].text
    return verify(*sides, limit=300).groups


def causes(found: list[DifferenceGroup], part: str) -> list[tuple[list[str], list[str]]]:
    """Return the lines of the groups whose first example differs in *part*."""
    return [
        ([line.text for line in group.cause.old], [line.text for line in group.cause.new])
        for group in found
        if part in group.examples[0].difference.names
    ]


def test_each_part_of_an_answer_has_its_own_cause(tmp_path: Path) -> None:
    """Lines about access and Header lines of other fields decide neither."""
    found = groups(tmp_path, CHARSET + DEFLATE, DEFLATE)
    assert causes(found, "content-type") == [(["AddDefaultCharset UTF-8"], [])]
    assert causes(found, "vary") == [([DEFLATE.strip()], [DEFLATE.strip()])]
    shown = [set(one.difference.names) for group in found for one in group.examples]
    assert not any({"content-type", "vary"} <= names for names in shown)


def test_a_line_of_both_texts_is_named_with_what_differs(tmp_path: Path) -> None:
    found = groups(tmp_path, DEFLATE, DEFLATE)
    (group,) = [one for one in found if "vary" in one.examples[0].difference.names]
    assert group.rule == "C30" and not group.is_of_versions
    assert [len(group.cause.old), len(group.cause.new)] == [1, 1]


def test_the_rule_is_named_and_not_the_document_root(tmp_path: Path) -> None:
    (old, new), *more = causes(
        groups(tmp_path, "", "RewriteEngine on\nRewriteRule ^/a9 /index.html\n"), "status"
    )
    assert not old and not more
    assert new == ["RewriteRule ^/a9 /index.html", "RewriteEngine on"]


def test_a_line_that_differs_is_named_before_equal_ones(tmp_path: Path) -> None:
    """Without the AddLanguage lines both answer alike, too; without LanguagePriority they do."""
    (tmp_path / "htdocs").mkdir()
    for language in ("de", "en"):
        (tmp_path / f"htdocs/page.html.{language}").write_text(language)
    text = "AddLanguage de .de\nAddLanguage en .en\n<Directory />\nOptions +MultiViews\n</Directory>\n"
    load = "LoadModule negotiation_module modules/mod_negotiation.so\n"
    old, new = (f"{load}{text}LanguagePriority {words}\n" for words in ("de en", "en de"))
    named = causes(groups(tmp_path, old, new), "file")
    assert named
    assert all(rows == (["LanguagePriority de en"], ["LanguagePriority en de"]) for rows in named)


def test_no_line_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing vanishes: that is said in place of a list of lines."""
    monkeypatch.setattr(ExactCauses, "_vanishes", lambda *_args, **_named: False)
    found = groups(tmp_path, DEFLATE, DEFLATE)
    (group,) = [one for one in found if "vary" in one.examples[0].difference.names]
    assert group.reason == "no line decides it: the versions differ in vary"
    assert group.cause.old == group.cause.new == ()


def test_a_status_of_a_module_has_no_lines_of_access(tmp_path: Path) -> None:
    """mod_autoindex refuses to list a directory; 2.4 has not loaded it."""
    make_root(tmp_path)
    for page in tmp_path.glob("htdocs/**/index.html"):
        page.unlink()
    options = "Options FollowSymLinks\n"
    old = side(tmp_path, "old", OLD + options, "2.2", "reqtimeout", *MODULES_22)
    new = side(tmp_path, "new", NEW + options, "2.4", "reqtimeout", *MODULES)
    file = Path(new.options.file)
    loads = "LoadModule autoindex_module modules/mod_autoindex.so\n"
    assert loads in file.read_text()
    file.write_text(file.read_text().replace(loads, ""))
    found = verify(old, Side.load(new.options, "2.4", name="new"), limit=300).groups
    (group,) = [one for one in found if "status" in one.examples[0].difference.names]
    named = [line.text for line in (*group.cause.old, *group.cause.new)]
    assert not any(text.startswith(("Order", "Allow", "Require")) for text in named)
    assert group.reason.endswith("the status (403 by mod_autoindex, 404 by core)")


def test_without_a_budget_the_lines_that_the_texts_show_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond the bound no text claims that no line decides."""
    monkeypatch.setattr("whimbrel.verify.exact_causes.BUDGET", RemovalBudget(0, 0))
    found = groups(tmp_path, CHARSET, "")
    assert causes(found, "content-type") == [(["AddDefaultCharset UTF-8"], [])]
    assert not any(group.reason.startswith("no line") for group in found)


def test_where_no_side_loads_without_its_lines_the_cause_is_not_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That no line decides is said after a trial alone."""
    monkeypatch.setattr("whimbrel.verify.exact_causes.side_without", lambda *_: None)
    found = groups(tmp_path, CHARSET, "")
    (group,) = [one for one in found if "content-type" in one.examples[0].difference.names]
    assert not group.cause.old and group.reason.startswith(NOT_FOUND)


def test_a_cause_without_lines_decides_nothing(tmp_path: Path) -> None:
    make_root(tmp_path)
    sides = [SideLines(side(tmp_path, name, NEW, "2.4", "reqtimeout", *MODULES)) for name in ("old", "new")]
    exact = ExactCauses(Causes(sides[0], sides[1]), compare)
    difference = Difference((FieldDifference("vary", "a", "b"),))
    assert exact.decides(Probe("/", host="localhost"), difference, Cause((), ())) is False


def test_lines_without_which_nothing_loads_stay(tmp_path: Path) -> None:
    """Without TypesConfig no server loads here, and nothing was found out by removing it with the others."""
    make_root(tmp_path)
    old = SideLines(side(tmp_path, "old", OLD, "2.2", "reqtimeout", *MODULES_22))
    new = SideLines(side(tmp_path, "new", NEW, "2.4", "reqtimeout", *MODULES))
    pairs = _paired(Causes(old, new), old.main.lines, new.main.lines)
    names = {line.name for pair in pairs for line in pair if line is not None}
    assert "fileetag" in names and names.isdisjoint(
        ("typesconfig", "listen", "loadmodule", "serverroot", "user", "group")
    )


def test_a_cause_that_does_not_decide_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the budget the lines that the texts show are named if the difference vanishes without them."""
    monkeypatch.setattr("whimbrel.verify.exact_causes.BUDGET", RemovalBudget(requests=0, loaded=0))
    decided = groups(tmp_path / "a", CHARSET, "")
    assert causes(decided, "content-type") == [(["AddDefaultCharset UTF-8"], [])]
    monkeypatch.setattr(ExactCauses, "_vanishes", lambda *_args, **_named: False)
    monkeypatch.setattr(ExactCauses, "cause", lambda *_args, **_named: None)
    (group,) = [
        one
        for one in groups(tmp_path / "b", CHARSET, "")
        if "content-type" in one.examples[0].difference.names
    ]
    assert not group.cause.old and group.reason.startswith(NOT_FOUND)
    monkeypatch.setattr(ExactCauses, "decides", lambda *_args, **_named: None)
    unchecked = groups(tmp_path / "c", CHARSET, "")
    assert UNCHECKED in {one.reason for one in unchecked}


def test_small_bodies_are_a_cosmetic_change_and_come_last(tmp_path: Path) -> None:
    found = groups(tmp_path, CHARSET + DEFLATE, DEFLATE)
    assert [group.rule for group in found if group.rule] == ["C30"]
    assert found[-1].rule == "C30" and found[-1].cause.old
    names = {name for one in found[-1].examples for name in one.difference.names}
    assert names <= {"vary", "content-encoding", "body"}


def test_sides_that_were_tried_are_not_loaded_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The direct path loads each whenever it is asked; the budget counts each time on both paths."""
    load, take = module.side_without, module._Spent.take
    loaded: list[object] = []
    spent: list[int] = []

    def counted(one: Side, lines: tuple[ConfigLine, ...]) -> Side | None:
        loaded.append(lines)
        return load(one, lines)

    def taken(self: module._Spent, lines: int) -> None:
        spent.append(lines)
        take(self, lines)

    monkeypatch.setattr(module, "side_without", counted)
    monkeypatch.setattr(module._Spent, "take", taken)
    rules = "RewriteEngine On\nRewriteRule ^/a9 /index.html\nAddType text/x-old .html\n"
    found = []
    for kept in (1, 16):
        monkeypatch.setattr(module, "MAX_WITHOUT", kept)
        root = tmp_path / str(kept)
        shown = [
            (str(group.cause).replace(str(root), ""), group.reason, group.count)
            for group in groups(root, CHARSET + DEFLATE + rules, DEFLATE)
        ]
        found.append((shown, len(spent), len(loaded)))
        spent.clear()
        loaded.clear()
    assert found[0][0] == found[1][0]
    assert found[0][2] <= found[0][1] and found[1][2] < found[0][2]


def test_a_header_line_that_gives_one_side_its_value_is_named(tmp_path: Path) -> None:
    """The type would differ without it, too: 2.4 has none for a name that begins with its only dot."""
    files = '<FilesMatch "^\\.html$">\nFileETag None\n</FilesMatch>\n'
    (tmp_path / "htdocs").mkdir()
    (tmp_path / "htdocs/.html").write_text("x\n")
    found = causes(groups(tmp_path, files, files), "content-type")
    assert ([], ['Header set Content-Type "text/plain" "expr=-z %{CONTENT_TYPE}"']) in found


def test_the_variables_of_one_line_are_one_cause(tmp_path: Path) -> None:
    """Each word of SSLOptions without a sign sets all options anew (mod_ssl): the last one counts,
    so that the new text sets no variable. apache2: SSL_PROTOCOL is not set there.
    """
    pytest.importorskip("cryptography", reason="the optional package cryptography is not installed")
    from whimbrel.cli import self_signed

    make_root(tmp_path)
    certificate, key = self_signed.make(tmp_path)
    host = (
        "Listen 127.0.0.1:443\n<VirtualHost *:443>\nServerName s.example\nSSLEngine on\n"
        f"SSLCertificateFile {certificate}\nSSLCertificateKeyFile {key}\n{{}}\n</VirtualHost>\n"
    )
    words = "SSLOptions StdEnvVars", "SSLOptions StdEnvVars LegacyDNStringFormat"
    old = side(tmp_path, "old", OLD + host.format(words[0]), "2.2", "reqtimeout", "ssl", *MODULES_22)
    new = side(tmp_path, "new", NEW + host.format(words[1]), "2.4", "reqtimeout", "ssl", *MODULES)
    found = [
        group
        for group in verify(old, new, limit=300).groups
        if any(name.startswith("environment SSL_") for name in group.examples[0].difference.names)
    ]
    assert [(group.cause.old[0].text, group.cause.new[0].text) for group in found] == [words]
    assert len(found[0].examples[0].difference.parts) > 1

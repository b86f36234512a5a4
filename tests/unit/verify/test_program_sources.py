"""Pages of programs: both sides run them, or one sends the text of the program."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.verify.sites import make_root, side

from whimbrel.verify.probe import Probe
from whimbrel.verify.side import Side
from whimbrel.verify.verification import DifferenceGroup, access_differences
from whimbrel.verify.verify import verify

PHP5 = "LoadModule php5_module modules/libphp5.so\nAddHandler php5-script .php"
PHP7 = "LoadModule php7_module modules/libphp7.so\nAddHandler application/x-httpd-php .php"
WITHOUT = "AddHandler application/x-httpd-php .php"
CGI = 'AddHandler cgi-script .php\n<Directory "@ROOT@/htdocs">\nOptions ExecCGI\n</Directory>'
FCGID = CGI.replace("cgi-script", "fcgid-script")

FPM = '<FilesMatch "\\.php$">\nSetHandler "proxy:unix:/run/php-fpm.sock|fcgi://localhost"\n</FilesMatch>'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    make_root(tmp_path)
    script = tmp_path / "htdocs/index.php"
    script.write_text("<?php secret ?>\n")
    script.chmod(0o755)
    return tmp_path


def with_modules(root: Path, name: str, text: str, dialect: str) -> Side:
    return side(root, name, text, dialect, *(one for one in ("cgi", "fcgid") if f" {one}-script" in text))


def source_groups(old: Side, new: Side) -> list[DifferenceGroup]:
    groups = verify(old, new).groups
    return [group for group in groups if any("program" in one.difference.names for one in group.examples)]


@pytest.mark.parametrize("text", [PHP5, CGI, FCGID])
def test_a_program_is_not_run_and_its_answer_is_no_error(root: Path, text: str) -> None:
    probe = Probe("/index.php", host="localhost:8080", port=8080)
    answer = with_modules(root, "old", text, "2.2").answer(probe)
    assert (answer.status, answer.runs_program) == (200, True)


def test_two_versions_of_php_run_the_same_program(root: Path) -> None:
    old = with_modules(root, "old", PHP5, "2.2")
    new = with_modules(root, "new", PHP7, "2.4")
    examples = [one for group in verify(old, new).groups for one in group.examples]
    assert not [one for one in examples if one.probe.target == "/index.php" and one.probe.method == "GET"]


@pytest.mark.parametrize(("target", "status"), [("/index.php", 200), ("/none.php", 404)])
def test_php_fpm_runs_the_program_that_the_module_ran(root: Path, target: str, status: int) -> None:
    """No back end is contacted; PHP-FPM and the module both answer 404 for a script that is not there."""
    old = with_modules(root, "old", PHP5, "2.2")
    new = side(root, "new", FPM, "2.4", "proxy", "proxy_fcgi")
    answer = new.answer(Probe(target, host="localhost:8080", port=8080))
    assert (answer.status, answer.runs_program) == (status, status == 200)
    examples = [one for group in verify(old, new).groups for one in group.examples]
    assert not [one for one in examples if one.probe.target == target and one.probe.method == "GET"]


def test_two_pools_of_php_fpm_differ(root: Path) -> None:
    other = FPM.replace("php-fpm.sock", "other.sock")
    texts = {"old": FPM, "new": other}
    old, new = (side(root, name, text, "2.4", "proxy", "proxy_fcgi") for name, text in texts.items())
    names = [name for group in verify(old, new).groups for name in group.examples[0].difference.names]
    assert "handler" in names


@pytest.mark.parametrize("text", [PHP5, CGI, FCGID])
def test_a_text_that_is_sent_opens_and_has_its_line(root: Path, text: str) -> None:
    old = with_modules(root, "old", text, "2.2")
    new = with_modules(root, "new", WITHOUT, "2.4")
    (group,) = source_groups(old, new)
    assert group.opens and not group.closes
    example = next(one for one in group.examples if "program" in one.difference.names)
    (part,) = example.difference.parts
    assert (part.old, part.new) == ("runs index.php", "sends the source of index.php")
    assert [line.text for line in group.cause.old] == [text.splitlines()["LoadModule" in text]]
    first = next(access_differences([group]))
    assert first.words == ("run", "source")


def test_a_document_comes_before_made_up_names_and_methods(root: Path) -> None:
    """The source of a page that is there is the first cause, whose first request is the GET for it."""
    old, new = (with_modules(root, *one) for one in (("old", PHP5, "2.2"), ("new", WITHOUT, "2.4")))
    groups = verify(old, new).groups
    first = groups[0].examples[0]
    assert (first.probe.method, first.probe.target, first.is_source) == ("GET", "/index.php", True)
    weights = [min(one.weight for one in group.examples) for group in groups if not group.opens]
    assert weights == sorted(weights)


def test_a_text_that_is_run_from_then_on_does_not_open(root: Path) -> None:
    old = with_modules(root, "old", WITHOUT, "2.2")
    new = with_modules(root, "new", PHP7, "2.4")
    (group,) = source_groups(old, new)
    assert not group.opens


@pytest.mark.parametrize("option", ["Includes", "IncludesNOEXEC"])
def test_a_page_with_commands_is_no_program(root: Path, option: str) -> None:
    """The text of the page is sent as it is read either way; the option decides about the command."""
    (root / "htdocs/page.shtml").write_text('<!--#exec cgi="/index.php" -->\n')
    text = (
        f'AddOutputFilter INCLUDES .shtml\nAddHandler cgi-script .php\n<Directory "{root}/htdocs">\n'
        f"Options ExecCGI {option}\n</Directory>"
    )
    one = side(root, "old", text, "2.2", "include", "cgi")
    answer = one.answer(Probe("/page.shtml", host="localhost:8080", port=8080))
    assert (answer.status, answer.runs_program) == (200, False)


def test_what_opens_comes_before_access_that_closes(root: Path) -> None:
    closed = "\n<Location /private>\n{}\n</Location>"
    old = with_modules(root, "old", PHP5 + closed.format("Order deny,allow"), "2.2")
    new = with_modules(root, "new", WITHOUT + closed.format("Require all denied"), "2.4")
    first, *others = verify(old, new).groups
    assert first.opens and first.kind == "response"
    assert any(group.kind == "access" and group.closes for group in others)


@pytest.mark.parametrize("version", ["2.2", "2.4"])
def test_an_alias_in_the_place_of_a_script_alias_is_named(root: Path, version: str) -> None:
    text = 'Alias /bin "@ROOT@/htdocs"'
    old = side(root, "old", f"Script{text}", version, "cgi")
    new = side(root, "new", text, "2.4", "cgi")
    found = source_groups(old, new)
    assert found
    for group in found:
        assert [line.text.split()[0] for line in (*group.cause.old, *group.cause.new)] == [
            "ScriptAlias",
            "Alias",
        ]

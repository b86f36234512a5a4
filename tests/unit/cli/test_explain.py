"""whimbrel explain as a command."""

from __future__ import annotations

import json

from typer.testing import CliRunner, Result

from whimbrel.cli import explain


def run(*words: str) -> Result:
    return CliRunner().invoke(explain.app, [*words])


def test_a_row_is_its_document() -> None:
    found = run("C40")
    assert found.exit_code == 0
    assert found.stdout.startswith("# C40 Revocation lists need SSLCARevocationCheck\n")


def test_words_of_a_line_need_no_quotes() -> None:
    assert "AH01797" in run("client", "denied", "by", "server", "configuration:", "/a").stdout


def test_json() -> None:
    (found,) = json.loads(run("--json", "AH01797").stdout)
    assert (found["kind"], found["name"]) == ("code", "AH01797")
    assert "C17" in found["rows"]


def test_typos_are_offered_what_is_close() -> None:
    found = run("SLProtocol")
    assert found.exit_code == 2
    assert "did you mean SSLProtocol" in found.output
    assert run().exit_code == 2


def test_lists() -> None:
    assert "C44      Substitute" in run("--list").stdout
    assert run("--list", "megabyte").stdout.startswith("C44 ")
    assert {"name", "title"} == set(json.loads(run("--list", "--json", "megabyte").stdout)[0])
    assert run("--list", "no such thing").exit_code == 2


def test_a_url_without_scheme_gets_the_right_command() -> None:
    for words in ("www.example.com", "example.com/shop/", "localhost:8080/x"):
        found = CliRunner().invoke(explain.app, [words])
        assert found.exit_code == 2
        assert found.stderr.endswith(f"hint: whimbrel explain http://{words}\n")
    assert "no URL" not in CliRunner().invoke(explain.app, ["mod_unheard.so"]).stderr


def test_a_path_without_slash_gets_the_right_command() -> None:
    for words, url in (("shop/a.html", "/shop/a.html"), ("http:/a.example/x", "http://a.example/x")):
        found = CliRunner().invoke(explain.app, [words])
        assert found.exit_code == 2
        assert found.stderr.endswith(f"hint: whimbrel explain {url}\n")

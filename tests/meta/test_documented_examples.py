"""The examples of docs/api.md and docs/pytest.md do what the pages say."""

from __future__ import annotations

import doctest
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.meta.tree import ROOT

pytest_plugins = ["pytester"]
_BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: str) -> Iterator[tuple[str, str, str, int]]:
    """Yield language, file name, text and line of each block of code."""
    text = (ROOT / "docs" / page).read_text()
    for found in _BLOCK.finditer(text):
        yield found[1], found[2] or "", found[3], text.count("\n", 0, found.start(3))


def write_files(page: str, root: Path) -> list[str]:
    """Write the files that the blocks name; return their names."""
    named = {name: text for _, name, text, _ in blocks(page) if name}
    for name, text in named.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return list(named)


def test_the_python_api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_files("api.md", tmp_path)
    names: dict[str, object] = {}
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    count = 0
    for language, _, text, line in blocks("api.md"):
        if language == "python":
            test = doctest.DocTestParser().get_doctest(text, names, "docs/api.md", "docs/api.md", line)
            count += len(test.examples)
            runner.run(test, out=report.append, clear_globs=False)
            names = test.globs
    assert not report, "".join(report)
    assert count > 25


def test_the_pytest_plugin(pytester: pytest.Pytester) -> None:
    names = write_files("pytest.md", pytester.path)
    assert "test_site.py" in names and "pytest.ini" in names
    result = pytester.runpytest_inprocess(
        "-q", "-p", "no:whimbrel", "-p", "whimbrel.pytest_plugin.fixtures", "-p", "no:cacheprovider"
    )
    result.assert_outcomes(passed=306)


def test_the_failure_of_the_page_is_what_a_failure_shows(pytester: pytest.Pytester) -> None:
    write_files("pytest.md", pytester.path)
    page = (ROOT / "docs/pytest.md").read_text()
    starts = ("AssertionError:", "301 Moved", "GET http", "because ")
    shown = [line.strip() for line in page.splitlines() if line.strip().startswith(starts)]
    pytester.makepyfile(
        test_failing='def test_it(httpd):\n    httpd().get("/old/x").redirects_to("/elsewhere")\n'
    )
    result = pytester.runpytest_inprocess(
        "test_failing.py", "-p", "no:whimbrel", "-p", "whimbrel.pytest_plugin.fixtures"
    )
    assert len(shown) == len(starts)
    for line in shown:
        assert line in re.sub(r"(?m)^E +", "", result.stdout.str())

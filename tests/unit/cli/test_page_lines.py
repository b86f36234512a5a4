"""`COMMAND --format html > FILE`: FILE has the page and nothing else, the terminal its result in one line."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from whimbrel.cli import check, replay, upgrade, verify

CONF = "Listen 80\nServerName a.example\nDocumentRoot htdocs\n<Location />\nOrder deny,allow\n</Location>\n"
LINE = '192.0.2.1 - - [30/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 1 "-" "-"\n'


@pytest.fixture
def site(tmp_path: Path) -> Path:
    for name in ("fleet/one", "fleet/two"):
        root = tmp_path / name
        (root / "conf").mkdir(parents=True)
        (root / "htdocs").mkdir()
        (root / "conf/httpd.conf").write_text(CONF)
    (tmp_path / "access_log").write_text(LINE)
    return tmp_path


@pytest.mark.parametrize(
    ("app", "words", "begin"),
    [
        (check.app, ["fleet/one"], "2.4 does not start: "),
        (upgrade.app, ["fleet/one"], "ready for 2.4: "),
        (upgrade.app, ["fleet/one", "--write"], "ready for 2.4: "),
        (upgrade.app, ["fleet/one", "--out", "new"], "ready for 2.4: "),
        (verify.app, ["fleet/one", "fleet/two"], ""),
        (replay.app, ["access_log", "--old", "fleet/one", "--new", "fleet/two", "-j", "1"], ""),
        (check.app, ["--fleet", "fleet"], "2 servers: 2 with findings"),
        (upgrade.app, ["--fleet", "fleet"], "2 servers: 2 with changes to make"),
    ],
)
def test_one_line(
    app: object, words: list[str], begin: str, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(site)
    found = CliRunner().invoke(app, [*words, "--format", "html"])  # type: ignore[arg-type]
    assert found.exit_code in (0, 1, 2, 3)  # 2: the new text does not load
    assert found.stdout.startswith("<!DOCTYPE html>") and found.stdout.rstrip().endswith("</html>")
    (line,) = found.stderr.splitlines()
    assert line.startswith(begin)
    result = line.removeprefix("2.4 does not start: ")  # the badge in front of the sentence
    assert result in " ".join(found.stdout.split()).replace("&#39;", "'")

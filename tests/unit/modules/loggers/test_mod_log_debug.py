"""mod_log_debug.  Lines and refusals are those of httpd 2.4.71."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.client import error_log, fetch
from tests.support.engine import build_engine

from whimbrel.base.errors import ConfigError

LOAD = "LoadModule log_debug_module modules/mod_log_debug.so\nLogLevel info\n"


def lines(root: Path, conf: str, path: str) -> list[str]:
    """Return the messages of mod_log_debug for one request."""
    serving = build_engine(root, LOAD + conf, {"htdocs/x": "", "htdocs/loc": ""})
    fetch(serving, path)
    return [
        line.rpartition("] ")[2] for line in error_log(serving).splitlines() if "[log_debug:info]" in line
    ]


def test_hooks(tmp_path: Path) -> None:
    conf = (
        'LogMessage "plain"\nLogMessage "%{REQUEST_URI} %{REQUEST_STATUS}" hook=all\nLogMessage x '
        'hook=handler "expr=%{REQUEST_URI} =~ /x/"'
    )
    assert lines(tmp_path, conf, "/x") == [*["/x 200"] * 10, "x", "plain", "/x 200"]
    assert lines(tmp_path, conf, "/nope") == [*["/nope 200"] * 10, "plain", "/nope 404"]


def test_sections_add(tmp_path: Path) -> None:
    conf = "LogMessage outer\n<Location /loc>\nLogMessage inner hook=log_transaction\n</Location>"
    assert lines(tmp_path, conf, "/loc") == ["outer", "inner"]
    assert lines(tmp_path, conf, "/x") == ["outer"]


def test_the_answer_does_not_vary_by_what_a_message_goes_by(tmp_path: Path) -> None:
    serving = build_engine(
        tmp_path, LOAD + "LogMessage m hook=fixups \"expr=%{HTTP:X-A} == 'one'\"", {"htdocs/x": ""}
    )
    assert fetch(serving, "/x", "X-A: one").get("Vary") is None
    assert error_log(serving).count("[log_debug:info]") == 1


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("LogMessage a hook=bogus", "Invalid hook name: bogus"),
        ("LogMessage a bogus", "Invalid argument bogus"),
        ('LogMessage "hello" expr=bad(', "Could not parse expression 'bad(': syntax error, unexpected $end"),
    ],
)
def test_refusals(line: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        build_engine(tmp_path, LOAD + line)
    assert caught.value.reason == reason

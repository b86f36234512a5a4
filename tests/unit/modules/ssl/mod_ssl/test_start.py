"""What a start logs about certificates, keys and contexts, compared with recorded starts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("cryptography", reason="the optional package cryptography is not installed")

from tests.support.engine import start_engine
from tests.support.site import load_module_lines
from tests.support.tls import case

from whimbrel.base.dialect import DIALECTS
from whimbrel.base.errors import ConfigError, PostConfigError
from whimbrel.config.model import Stage
from whimbrel.engine.engine import Engine

FAILING = (72, 73, 74, 75, 76, 77, 78, 79, 85, 87, 88, 92, 94, 97, 104)
STARTING = (83, 84, 86, 89, 93, 98, 103)
CODE = re.compile(r"AH\d{5}")


def start(root: Path, number: int, version: str) -> Engine:
    """Start an engine on a recorded case."""
    recorded = case(number)
    for name, content in recorded.get("files", {}).items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else content["text"])
    conf = recorded["conf"] if isinstance(recorded["conf"], str) else recorded["conf"][version]
    preamble = f'ServerRoot "{root}"\nServerName localhost\nTypesConfig conf/mime.types\n'
    (root / "conf").mkdir(exist_ok=True)
    (root / "conf/mime.types").write_text("")
    (root / "logs").mkdir()
    conf = conf.replace("@PORT@", "8443").replace("@PORT2@", "8444").replace("@SERVERROOT@", str(root))
    modules = load_module_lines(recorded["modules"][version])
    (root / "conf/main.conf").write_text(modules + preamble + conf)
    return start_engine(root, "conf/main.conf", DIALECTS[version])


def texts(lines: list[str], root: Path) -> list[str]:
    """Return log lines without levels, and without the library's own lines."""
    plain = [re.sub(r"^\[[^]]*\] |AH\d{5}: ", "", re.sub(r"^\[[^]]*\] ", "", line)) for line in lines]
    shown = [line.replace("@SERVERROOT@", str(root)) for line in plain]
    kept = (line for line in shown if "SSL Library Error" not in line and "Hostname" not in line)
    return [line for line in kept if "Configuration Failed" not in line]


@pytest.mark.parametrize("version", ["2.2", "2.4"])
@pytest.mark.parametrize("number", FAILING)
def test_failing_starts(tmp_path: Path, number: int, version: str) -> None:
    answer = case(number)["answers"][version]
    with pytest.raises((ConfigError, PostConfigError)) as caught:
        start(tmp_path, number, version)
    problem = caught.value
    if isinstance(problem, ConfigError):
        assert problem.reason == answer["startup"][-1].replace("@SERVERROOT@", str(tmp_path))
        return
    recorded = [line.replace("conf/httpd.conf:2", "conf/main.conf:2") for line in answer["error_log"]]
    found = [f"[{level}] {text}" for level, text in problem.log_lines]
    place = re.compile(r"\(/[^ ]*main\.conf:\d+\)")
    assert [place.sub("", line) for line in texts(found, tmp_path)] == [
        place.sub("", line) for line in texts(recorded, tmp_path)
    ]
    assert problem.exits is (version == "2.2")


@pytest.mark.parametrize("version", ["2.2", "2.4"])
@pytest.mark.parametrize("number", STARTING)
def test_warnings_of_both_runs(tmp_path: Path, number: int, version: str) -> None:
    engine = start(tmp_path, number, version)
    messages = engine.configuration.messages
    found = [message.text for message in messages if message.stage is not Stage.READING]
    assert found == texts(case(number)["answers"][version]["error_log"], tmp_path)

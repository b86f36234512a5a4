"""The documents that the commands print have their models, and the schemas are those of the models."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from tests.unit.explain.explained_site import CONF, write_site
from tests.unit.replay.replayed_site import NEW, line
from typer.testing import CliRunner

from whimbrel.api import schemas
from whimbrel.cli import check, explain, replay, schema, upgrade, verify
from whimbrel.cli.example import copy_site

models = pytest.importorskip("whimbrel.api.schema_models", reason="pydantic is not installed")


def printed(app: typer.Typer, *words: str, codes: tuple[int, ...] = (0, 1, 3)) -> str:
    """Return what a command prints on standard output."""
    result = CliRunner().invoke(app, [*words])
    assert result.exit_code in codes, result.output
    return result.stdout


def keys_of(document: Any, model: Any) -> None:
    """Validate *document*, whose every key must be one of the model."""
    models.MODELS[model].model_validate_json(json.dumps(document))


@pytest.fixture
def sites(tmp_path: Path) -> tuple[str, str]:
    return str(write_site(tmp_path, CONF, "old.conf")), str(write_site(tmp_path, NEW, "new.conf"))


@pytest.mark.parametrize("name", sorted(models.MODELS))
def test_the_files_are_those_of_the_models(name: str) -> None:
    written = json.loads(schemas.read(name))
    assert written == models.schema_of(name), "run python -m tools.schemas"
    assert written["$id"] == f"urn:whimbrel:schema:{name}"


def test_every_schema_has_a_model() -> None:
    assert schemas.names() == sorted(models.MODELS)


@pytest.fixture
def example(tmp_path: Path) -> str:
    copy_site(tmp_path / "example")
    return f"{tmp_path}/example"


def test_check(example: str, tmp_path: Path) -> None:
    document = json.loads(printed(check.app, "-d", example, "--format", "json"))
    assert document["findings"] and document["rules"]
    keys_of(document, "check-1")
    (tmp_path / ".htaccess").write_text("Order allow,deny\nBogus on\n")
    keys_of(json.loads(printed(check.app, str(tmp_path / ".htaccess"), "--format", "json")), "check-1")


@pytest.mark.parametrize("options", [(), ("--no-verify",)])
def test_upgrade(example: str, options: tuple[str, ...]) -> None:
    document = json.loads(printed(upgrade.app, "-d", example, "--json", *options))
    assert document["files"] and document["findings"]
    keys_of(document, "upgrade-1")


@pytest.mark.parametrize("app", [check.app, upgrade.app, verify.app])
def test_fleets(example: str, tmp_path: Path, app: typer.Typer) -> None:
    (tmp_path / "list").write_text(f"{example} a\n{tmp_path}/absent b\n")
    options = ("--limit", "20") if app is verify.app else ()
    words = ("--fleet", f"{tmp_path}/list", "-j", "1", "--format", "json", *options)
    document = json.loads(printed(app, *words, codes=(2,)))
    assert [server["name"] for server in document["servers"]] == ["a", "b"]
    assert document["servers"][1]["fault"].endswith("absent: No such file or directory")
    keys_of(document, "fleet-1")


def test_verify(sites: tuple[str, str]) -> None:
    dialects = ("--old-dialect", "2.4")
    document = json.loads(printed(verify.app, *sites, *dialects, "--format", "json"))
    assert document["differences"] and document["differences"][0]["examples"]
    keys_of(document, "verify-1")
    Path(sites[1]).write_text("Bogus on\n")
    text = printed(verify.app, *sites, *dialects, "--format", "json", codes=(2,))
    assert json.loads(text)["verdict"] == "does not load"
    keys_of(json.loads(text), "verify-1")


@pytest.mark.parametrize("url", ["/", "/old/x", "/app/x", "/private/x.html", "http://www.a.example/x.html"])
def test_explain(sites: tuple[str, str], url: str) -> None:
    document = json.loads(printed(explain.app, url, "-f", sites[0], "--json"))
    assert document["steps"]
    keys_of(document, "explain-1")
    both = json.loads(printed(explain.app, url, "-f", sites[0], "--diff", sites[1], "--json"))
    keys_of(both, "explain-diff-1")


def test_replay(tmp_path: Path, sites: tuple[str, str]) -> None:
    log = tmp_path / "log"
    log.write_text(line("/closed/x") + line("/index.html") + line("/none", status=200) + "no line of a log\n")
    words = ("--old", sites[0], "--old-dialect", "2.4", "--new", sites[1], "-j", "1", "--format", "json")
    document = json.loads(printed(replay.app, str(log), *words))
    assert document["changes"] and document["log"]["differences"] and document["skipped"]["malformed"]
    keys_of(document, "replay-1")


def objects(part: Any) -> Iterator[dict[str, Any]]:
    """Yield all objects of a schema."""
    if isinstance(part, dict):
        yield part
        part = list(part.values())
    if isinstance(part, list):
        for value in part:
            yield from objects(value)


def test_schemas_allow_further_keys() -> None:
    for name in schemas.names():
        assert not any(
            one.get("additionalProperties") is False for one in objects(json.loads(schemas.read(name)))
        )


def test_schema_prints_the_newest_version_or_a_list() -> None:
    assert json.loads(printed(schema.app, "check"))["title"] == "CheckDocument"
    assert printed(schema.app, "check-1") == printed(schema.app, "check")
    assert printed(schema.app).split() == schemas.names()
    result = CliRunner().invoke(schema.app, ["../check"])
    assert result.exit_code == 2 and "no schema has this name" in result.output

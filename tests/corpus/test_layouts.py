"""The places of 22 distributions and control panels: found, checked, upgraded, verified and served."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.client import fetch
from tests.support.layout_trees import TREES, LayoutTree
from whimbrel.api.checking import check_parts
from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.cli.arguments import parse
from whimbrel.cli.config_loader import ConfigLoader
from whimbrel.cli.options import ConfigArguments, sources
from whimbrel.config.options import LoadOptions
from whimbrel.config.servers import FoundServer, server_at
from whimbrel.engine.engine import Engine
from whimbrel.report.model import Report
from whimbrel.testing.fake_runtime import FakeRuntime
from whimbrel.upgrade.check.check import parse_selection
from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.model import UpgradeOptions
from whimbrel.upgrade.rules import all_rules
from whimbrel.upgrade.source.reading import Sources, read_config_tree
from whimbrel.verify.loading import load_sides
from whimbrel.verify.verify import verify

each = pytest.mark.parametrize("name", TREES)


def read(path: Path) -> Sources:
    """Return what `whimbrel check PATH` reads, without options."""
    return sources(ConfigArguments([path]))[0]


def found(path: Path) -> FoundServer:
    """Return the server at *path*."""
    server = server_at(str(path))
    assert server is not None
    return server


def keep_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restore the environment after the test: a server takes the variables of its service into its own."""
    monkeypatch.setattr("os.environ", dict(os.environ))


def upgraded(path: Path) -> tuple[LoadOptions, LoadOptions]:
    """Return the options of the server at *path*, and those of its upgraded text; nothing is written."""
    what = read(path)
    assert what.options is not None
    result = upgrade(read_config_tree(what, UpgradeOptions()), all_rules())
    return what.options, replace(what.options, overlay={**what.options.overlay, **result.files})


def in_place(tree: LayoutTree, image: Path, dialect: str) -> ConfigLoader:
    """Return the loader of whimbrel-httpd for the machine whose texts name their real places."""
    server = found(tree.write(image, is_copy=False))
    loader = ConfigLoader(
        parse("whimbrel-httpd", ["-d", server.root, "-f", server.path, "--dialect", dialect])
    )
    loader.server = server
    return loader


def test_there_are_22_layouts() -> None:
    assert len(TREES) == 22


@each
def test_check_finds_the_server(name: str, tmp_path: Path) -> None:
    """The copy of one directory, or of a whole machine: without options."""
    tree: LayoutTree = TREES[name]
    path = tree.write(tmp_path, is_copy=True)
    server = found(path)
    assert server.path == f"{tmp_path}{tree.main}"
    assert (server.layout.name if server.layout is not None else "") == tree.layout
    options = read(path).options
    assert options is not None and set(tree.defines) <= set(options.defines)
    if tree.variable[0]:
        assert options.environment[tree.variable[0]] == tree.variable[1]
    report: Report = check_parts([(read(path), str(path))], parse_selection("", ""), 1, lambda _path: None)
    assert any(tree.main.endswith(file.lstrip("/")) for file in report.files)
    assert bool(report.scope.items) is not tree.has_documents, report.scope.items


@each
def test_a_check_passes_in_place(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """-t of the text as installed; a path of Windows is no directory, and the error names the line."""
    keep_environment(monkeypatch)
    tree = TREES[name]
    loader = in_place(tree, tmp_path, tree.version)
    loader.arguments.check_only = True
    if name == "WampServer":
        with pytest.raises(ConfigError, match="ServerRoot must be a valid directory") as caught:
            loader.load()
        assert caught.value.place is not None and caught.value.place.line == 2
        return
    build = loader.load().build
    assert (build.name, build.layout.name) == (tree.build if tree.version == "2.4" else "auto", tree.layout)
    assert build.is_detected and build.reason


@each
def test_upgrade_and_verify(name: str, tmp_path: Path) -> None:
    tree = TREES[name]
    old, new = upgraded(tree.write(tmp_path, is_copy=True))
    old_side, new_side = load_sides((old, new), (tree.version, "2.4"), ("old", "new"))
    assert (old_side.errors, new_side.errors) == ((), ())
    result = verify(old_side, new_side)
    assert not result.groups and result.probes


@each
def test_the_upgraded_text_is_served(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The upgraded text replaces the old one on its machine, and a page is requested."""
    keep_environment(monkeypatch)
    tree = TREES[name]
    if name == "WampServer":
        pytest.skip("its paths are those of Windows")
    loader = in_place(tree, tmp_path, "2.4")
    _old, new = upgraded(Path(loader.server.path))
    for path, text in new.overlay.items():
        Path(path).parent.mkdir(exist_ok=True)
        Path(path).write_bytes(text)
    reply = fetch(Engine(loader.load_to_serve(), FakeRuntime()), "/index.html")
    assert (reply.status, reply.body) == (200, tree.page)

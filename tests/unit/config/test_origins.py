"""Origins of settings: the line that set a field of a layer or server."""

from __future__ import annotations

from pathlib import Path

from whimbrel.base.dialect import DIALECTS
from whimbrel.config.configuration import Configuration
from whimbrel.config.core_config import CoreDirConfig, CoreServerConfig
from whimbrel.config.load import load
from whimbrel.config.model import Server
from whimbrel.config.options import LoadOptions
from whimbrel.config.origins import MAX_COPIED, OriginKey
from whimbrel.engine.engine import Engine
from whimbrel.modules import ALL
from whimbrel.modules.http.mod_mime import MimeDirConfig
from whimbrel.modules.mappers.mod_rewrite.settings import RewriteServerConfig
from whimbrel.modules.metadata.mod_headers.lines import HeadersDirConfig
from whimbrel.testing.fake_runtime import FakeRuntime

CONF = """LoadModule mpm_event_module modules/mod_mpm_event.so
LoadModule mime_module modules/mod_mime.so
LoadModule headers_module modules/mod_headers.so
ServerName localhost
DocumentRoot /srv/main
AddType text/x-a .a
AddType text/x-b .b
Header set X-A 1
<Directory /srv>
    AddType text/x-other .b
    Options Indexes
    Header set X-B 2
</Directory>
<VirtualHost *:80>
    ServerName a.example
    ServerAlias b.example \\
        c.example
    DocumentRoot /srv/a
</VirtualHost>
"""


def loaded(root: Path, text: str = CONF, *, origins: bool = True) -> Configuration:
    (root / "httpd.conf").write_text(text)
    options = LoadOptions(
        server_root=str(root), file="httpd.conf", check_only=True, origins=origins, is_elsewhere=True
    )
    return load(options, ALL, DIALECTS["2.4"])


def numbers(lines: tuple[object, ...]) -> list[int]:
    return [line.place.line for line in lines]  # type: ignore[attr-defined]


def test_a_plan_knows_the_line_of_each_field(tmp_path: Path) -> None:
    configuration = loaded(tmp_path)
    host = configuration.virtual_hosts[0]
    plan = Engine(configuration, FakeRuntime()).plans.root(host)
    assert numbers(plan.origin(CoreServerConfig, "document_root")) == [18]
    assert plan.origin(CoreDirConfig, "override") == ()
    inner = plan.with_layer(host.directories[0].layer)
    assert numbers(inner.origin(CoreDirConfig, "options")) == [11]
    assert numbers(inner.origin(HeadersDirConfig, "success")) == [8, 12]  # a list of all layers
    assert [line.text for line in inner.origin(MimeDirConfig, "extensions", "b")] == [
        "AddType text/x-other .b"
    ]
    assert numbers(inner.origin(MimeDirConfig, "extensions", "a")) == [6]
    assert numbers(inner.origins(MimeDirConfig)) == [6, 7, 10]


def test_each_line_of_a_long_list_is_found(tmp_path: Path) -> None:
    """Beyond MAX_COPIED items a list is recorded by its length."""
    rules = "".join(f"RewriteRule ^/{n}$ /new\n" for n in range(2 * MAX_COPIED))
    loads = "LoadModule rewrite_module modules/mod_rewrite.so\n"
    server = loaded(tmp_path, loads + CONF + rules).main
    lines = (server.origins or {})[OriginKey(RewriteServerConfig, "rules")]
    assert [line.text for line in lines] == rules.splitlines()
    assert isinstance(server.records[RewriteServerConfig].rules, list), "a tuple is copied for each rule"
    first = len((loads + CONF).splitlines()) + 1
    assert [line.place.line for line in lines] == list(range(first, first + 2 * MAX_COPIED))
    for rule in server.config(RewriteServerConfig).rules:
        assert (server.origins or {})[OriginKey(RewriteServerConfig, "rules", rule)][0].place == rule.place


def test_names_of_a_host_have_their_lines(tmp_path: Path) -> None:
    host = loaded(tmp_path).virtual_hosts[0]
    assert numbers(host.origins_of(Server, "name")) == [15]
    (line,) = host.origins_of(Server, "names")
    assert line.text.split() == ["ServerAlias", "b.example", "c.example"]


def test_nothing_is_recorded_by_default(tmp_path: Path) -> None:
    configuration = loaded(tmp_path, origins=False)
    assert all(server.origins is None for server in configuration.servers())
    assert configuration.main.defaults.origins is None

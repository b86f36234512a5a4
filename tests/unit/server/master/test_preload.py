"""Imports before privileges are dropped: all that a worker may need, and no library that its settings
exclude.

A worker that runs as another user may be unable to read the package, or Python itself.
"""

from __future__ import annotations

import ast
import dis
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

import whimbrel
from whimbrel.modules.database.dbd_drivers import DRIVERS, LIBRARIES
from whimbrel.server.master import preload

PACKAGE = Path(whimbrel.__file__).parent
NOT_IN_SERVERS = (
    *("access", "cli", "explain", "lsp", "replay", "report", "testing", "upgrade", "utilities"),
    "verify",
)
# Imports of functions that run in the master only, when their module is imported, or after a mistake.
NEVER = (
    *("base.lazy_dataclasses", "modules.database.dbd_drivers", "modules.support.auth.system_crypt"),
    *("modules.ssl.mod_ssl.contexts", "modules.ssl.mod_ssl.start", "server.master."),
)

MASTER = """
import os, sys
from whimbrel.config.load import load
from whimbrel.config.options import LoadOptions
from whimbrel.base.dialect import V24
from whimbrel.modules import ALL
from whimbrel.server.master import master, preload

options = LoadOptions(server_root=sys.argv[1], file=f"{sys.argv[1]}/httpd.conf")
for _ in sys.stdin:
    if not (child := os.fork()):
        preload.import_everything(load(options, ALL, V24))
        print(*sys.modules, flush=True)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        print(flush=True)
"""


def name_of(file: Path) -> str:
    """Return the name of the module in *file*, without the package."""
    return ".".join(file.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


def servers_files() -> list[Path]:
    return [
        file
        for file in sorted(PACKAGE.rglob("*.py"))
        if file.relative_to(PACKAGE).parts[0] not in NOT_IN_SERVERS
    ]


@cache
def imports_in_functions(file: Path) -> tuple[str, ...]:
    """Return the modules that functions import; a name after ``import`` may be one, too."""
    return tuple(_imports_in_functions(file))


def _imports_in_functions(file: Path) -> Iterator[str]:
    for function in ast.walk(ast.parse(file.read_text())):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.Import):
                    yield from (alias.name for alias in node.names)
                elif isinstance(node, ast.ImportFrom) and node.module:
                    inner = [
                        f"{node.module}.{alias.name}"
                        for alias in node.names
                        if is_ours(f"{node.module}.{alias.name}")
                    ]
                    yield from inner or [node.module]
                elif (
                    isinstance(node, ast.Call)
                    and ast.unparse(node.func) == "import_module"
                    and isinstance(node.args[0], ast.Constant)
                ):
                    yield node.args[0].value


@cache
def is_ours(name: str) -> bool:
    place = PACKAGE.parent / name.replace(".", "/")
    return name.startswith("whimbrel.") and (
        place.with_suffix(".py").exists() or (place / "__init__.py").exists()
    )


def output_of(code: str) -> list[str]:
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    ).stdout.split()


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., set[str]]]:
    """Yield a function that returns the modules that a master has imported with *modules* loaded and
    *settings*: a fork of a process that has imported what reads any configuration.
    """
    root = tmp_path_factory.mktemp("server")
    (root / "logs").mkdir()
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    master = subprocess.Popen(
        [sys.executable, "-c", MASTER, str(root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    requests, answers = master.stdin, master.stdout
    assert requests is not None and answers is not None

    @cache
    def under(*modules: str, settings: str = "") -> set[str]:
        loads = "".join(
            f"LoadModule {name}_module modules/mod_{name}.so\n"
            for name in ("mpm_event", "authn_core", "authz_core", *modules)
        )
        (root / "httpd.conf").write_text(f"{loads}ServerName localhost\nListen 127.0.0.1:8080\n{settings}\n")
        requests.write("\n")
        requests.flush()
        found = answers.readline().split()
        assert found, "the start failed"
        return set(found)

    with master:
        yield under


@pytest.mark.parametrize(
    "modules",
    [
        "include status cgid auth_basic authn_file",
        "rewrite negotiation deflate proxy proxy_http proxy_balancer slotmem_shm lbmethod_byrequests",
        "dav dav_fs cache cache_disk cache_socache socache_shmcb info mime_magic",
        "auth_digest auth_form session session_cookie request authnz_fcgi lua ext_filter fcgid",
    ],
)
def test_all_that_a_worker_needs_is_there(modules: str, imported: Callable[..., set[str]]) -> None:
    """Function-level imports of all imported files are imported too, transitively."""
    for module, package in {"lua": "lupa", "socache_shmcb": "lmdb"}.items():
        if module in modules.split():
            pytest.importorskip(package, reason=f"the optional package {package} is not installed")
    found = imported(*modules.split(), settings="<Location /private>\nAuthType Basic\n</Location>")
    ours = [file for file in servers_files() if f"whimbrel.{name_of(file)}" in found]
    assert any(name_of(file).endswith(f".mod_{modules.split()[0]}") for file in ours)
    needed = {
        one for file in ours for one in imports_in_functions(file) if not name_of(file).startswith(NEVER)
    }
    absent = {
        "whimbrel.config.third_party_lines",
        "whimbrel.config.third_party_providers",
        "whimbrel.modules.core.log_format",
        "whimbrel.modules.generators.mod_status.metrics",
        "whimbrel.modules.loggers.mod_log_config.json_lines",
        "whimbrel.modules.support.cgi.suexec",
        "whimbrel.server.connection.dumpio",
        "whimbrel.server.connection.echo",
        "whimbrel.server.connection.proxy_protocol",
        "whimbrel.server.connection.tls",
        "whimbrel.server.http2.connection",
        "whimbrel.server.worker.daemon_threads",
    }
    assert needed - found <= absent


def test_threads_of_scripts_are_imported_where_there_are_scripts(imported: Callable[..., set[str]]) -> None:
    pytest.importorskip("lupa", reason="the optional package lupa is not installed")
    assert "whimbrel.server.worker.daemon_threads" in imported("lua")
    assert "whimbrel.server.worker.daemon_threads" not in imported("dir")


def test_metrics_are_imported_where_a_line_names_them(imported: Callable[..., set[str]]) -> None:
    pytest.importorskip("prometheus_client", reason="the package prometheus-client is not installed")
    settings = "<Location /metrics>\nSetHandler whimbrel-metrics\n</Location>"
    assert "prometheus_client" in imported("status", settings=settings)
    assert "prometheus_client" not in imported("status")


def test_json_lines_are_imported_where_a_log_has_them(imported: Callable[..., set[str]]) -> None:
    name = "whimbrel.modules.loggers.mod_log_config.json_lines"
    assert name in imported("log_config", settings="CustomLog logs/access.json whimbrel_json")
    assert name not in imported("log_config", settings="CustomLog logs/access_log common")


def test_http2_is_imported_where_it_is_loaded(imported: Callable[..., set[str]]) -> None:
    assert {"whimbrel.server.http2.connection", "hpack"} <= imported("http2")
    assert not {"whimbrel.server.http2.connection", "hpack"} & imported("dir")


@pytest.mark.parametrize(("module", "layer"), [("dumpio", "dumpio"), ("remoteip", "proxy_protocol")])
def test_a_layer_of_connections_is_imported_where_its_module_is_loaded(
    module: str, layer: str, imported: Callable[..., set[str]]
) -> None:
    assert f"whimbrel.server.connection.{layer}" in imported(module)
    assert f"whimbrel.server.connection.{layer}" not in imported("dir")


@pytest.mark.parametrize("driver", DRIVERS)
def test_databases_are_imported_where_a_server_has_the_driver(
    driver: str, imported: Callable[..., set[str]]
) -> None:
    packages = {"sqlite3", "psycopg", "pymysql"}
    pytest.importorskip(LIBRARIES[driver][0], reason=f"the library of {driver} is not installed")
    found = imported(
        "rewrite",
        "dbd",
        settings=f"<VirtualHost *:8080>\nServerName a.example.org\nDBDriver {driver}\n</VirtualHost>",
    )
    assert set(LIBRARIES[driver]) <= found
    assert packages & found == {LIBRARIES[driver][0]}
    assert not packages & imported("rewrite", "dbd", settings='RewriteMap low "int:tolower"')


@pytest.mark.parametrize(
    "inside",
    ["AuthType Basic", "AllowOverride AuthConfig", "AllowOverride All", "AllowOverrideList AuthType"],
)
def test_passwords_can_be_checked_where_authentication_may_apply(
    inside: str, imported: Callable[..., set[str]]
) -> None:
    modules = {"whimbrel.modules.support.auth.passwords", "bcrypt"}
    assert modules | {"ctypes"} <= imported(
        "auth_basic", "authn_file", settings=f"<Directory /srv>\n{inside}\n</Directory>"
    )
    assert not modules & imported(
        "auth_basic", "authn_file", settings="<Directory /srv>\nAllowOverride FileInfo\n</Directory>"
    )


def test_sealed_sessions_have_their_ciphers(imported: Callable[..., set[str]]) -> None:
    pytest.importorskip("cryptography", reason="the optional package cryptography is not installed")
    assert "cryptography.hazmat.decrepit.ciphers.algorithms" in imported(
        "session", "session_cookie", "session_crypto"
    )
    assert "cryptography" not in imported("rewrite", "session", "auth_basic")


def test_certificates_are_imported_where_a_server_has_tls(imported: Callable[..., set[str]]) -> None:
    """Distributions load mod_ssl for servers without TLS."""
    pytest.importorskip("cryptography", reason="the optional package cryptography is not installed")
    found = imported("ssl", "proxy", "proxy_http")
    package = "whimbrel.modules.ssl.mod_ssl"
    parts = ("backend_contexts", "certificate_names", "certificate_variables", "certificates", "extensions")
    assert package in found and found.isdisjoint(f"{package}.{name}" for name in (*parts, "hosts"))


def test_names_are_looked_up_without_a_codec() -> None:
    """The first look-up of a worker would import a codec."""
    assert "encodings.idna" not in output_of(
        "import sys\n"
        "from whimbrel.expr.operators import _numeric, _resolved\n"
        "from whimbrel.server.worker.runtime import _resolve, _reverse_lookup\n"
        "_resolve('localhost'), _reverse_lookup('127.0.0.1'), _numeric('127.1'), _resolved('localhost')\n"
        "print(*sys.modules)"
    )


def test_an_optional_library_does_not_stop_a_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that functions import when they need it; one of this package that is missing is an error."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "att_needs_library.py").write_text("import no_such_library\n")
    (tmp_path / "att_needs_own.py").write_text("import whimbrel.no_such_module\n")
    preload._import("att_needs_library")
    with pytest.raises(ModuleNotFoundError, match=r"whimbrel\.no_such_module"):
        preload._import("att_needs_own")


def test_loaded_modules_need_no_optional_library() -> None:
    """A module that is loaded and not used, as by distributions: its hooks are made without the libraries,
    which the directives that use them require.
    """
    code = """
import sys
from importlib import import_module

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in OPTIONAL:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

OPTIONAL = set(sys.argv[1].split())
sys.meta_path.insert(0, Missing())
from whimbrel.modules import ALL

for name in ALL:
    for hook in ALL[name].hooks:
        import_module(hook.make.__module__)
"""
    optional = "OpenSSL acme brotli cryptography h2 josepy ldap lmdb lupa lxml opentelemetry psycopg pymysql"
    optional += " watchfiles"
    done = subprocess.run([sys.executable, "-c", code, optional], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_imports_are_those_that_dis_reads() -> None:
    """Of a function with so many names that an instruction needs a prefix for the number of one."""
    lines = "".join(f"    import m{n}\n    from p{n} import a{n}, b{n} as c{n}\n" for n in range(300))
    code = compile(f"def f():\n{lines}", "f", "exec").co_consts[0]
    expected, name = [], ""
    for instruction in dis.get_instructions(code):
        if instruction.opname == "IMPORT_NAME":
            name = instruction.argval
            expected.append((name, ""))
        elif instruction.opname == "IMPORT_FROM":
            expected.append((name, instruction.argval))
    assert len(expected) == 1200
    assert list(preload._imports(code)) == expected

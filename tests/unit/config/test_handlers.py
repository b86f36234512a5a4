"""Handlers without behaviour: the start is refused, a .htaccess file gives 500; a file is sent only where
httpd sends it, with a warning.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.client import fetch
from tests.support.engine import build_engine

from whimbrel.base.dialect import V22
from whimbrel.base.errors import StartError
from whimbrel.catalogue.handlers import handler_table
from whimbrel.catalogue.load import catalogue
from whimbrel.config.load import load
from whimbrel.config.options import LoadOptions
from whimbrel.config.unimplemented import refuse_start
from whimbrel.engine.engine import Engine
from whimbrel.modules import ALL

PROGRAM = "<?php $password = 'secret';"
BASE = "LoadModule actions_module m/mod_actions.so\nLoadModule rewrite_module m/mod_rewrite.so\n"
# a module without behaviour, of 2.2
LOADED, EXAMPLE = "LoadModule example_module m/mod_example.so\n", "example-handler"
PHP_FPM = "proxy:unix:/run/php/php8.2-fpm.sock|fcgi://localhost"


def names_of(version: str) -> list[tuple[str, str]]:
    """Every handler with each module of httpd that implements it, and has no behaviour here."""
    known = catalogue(version)
    return [
        (name.replace("*", "x"), file)
        for name, files in handler_table(version).items()
        for file in files
        if known.module_of_file(file) is not None and file not in frozenset(ALL)
    ]


def serving(root: Path, conf: str, files: dict[str, str] | None = None, version: str = "2.4") -> Engine:
    """An engine on one file that must not be sent."""
    return build_engine(root, BASE + conf, {"htdocs/a.php": PROGRAM, **(files or {})}, version)


def messages(made: Engine) -> list[str]:
    """The warnings of a start; raises StartError."""
    refuse_start(made.configuration)
    return [message.text for message in made.configuration.messages]


def loads(file: str, version: str) -> str:
    """The line that loads a module."""
    row = catalogue(version).module_of_file(file)
    assert row is not None
    needs = {"proxy_module": "LoadModule proxy_module m/mod_proxy.so\n"}.get(row.needs, "")
    return f"{needs}LoadModule {row.identifier} m/{file}.so\n"


@pytest.mark.parametrize(
    ("version", "name", "file"), [(v, *pair) for v in ("2.2", "2.4") for pair in names_of(v)]
)
def test_a_loaded_module_without_behaviour(version: str, name: str, file: str, tmp_path: Path) -> None:
    made = serving(tmp_path, f"{loads(file, version)}SetHandler {name}\n", version=version)
    with pytest.raises(StartError) as caught:
        refuse_start(made.configuration)
    assert f"SetHandler {name} (" in str(caught.value.lines[0]) and ".conf:" in str(caught.value.lines[0])
    inner = tmp_path / "inner"
    inner.mkdir()
    made = serving(
        inner,
        f"{loads(file, version)}<Directory @/htdocs>\nAllowOverride All\n</Directory>\n",
        {"htdocs/.htaccess": f"AddHandler {name} .php\n"},
        version,
    )
    reply = fetch(made, "/a.php")
    assert (reply.status, "secret" in reply.body) == (500, False)


@pytest.mark.parametrize(
    "line",
    [
        f'SetHandler "{EXAMPLE}"',
        f'AddHandler "{EXAMPLE}" .php',
        f'<FilesMatch "\\.php$">\nSetHandler "{EXAMPLE}"\n</FilesMatch>',
        f"RewriteEngine on\nRewriteRule \\.php$ - [H={EXAMPLE}]",
    ],
)
def test_ways_to_name_a_handler(line: str, tmp_path: Path) -> None:
    with pytest.raises(StartError):
        messages(serving(tmp_path, f"{LOADED}{line}\n", version="2.2"))


def test_a_name_that_only_a_request_knows(tmp_path: Path) -> None:
    """If the handler is known too late to refuse the start, the request is refused."""
    line = "RewriteEngine on\nRewriteRule \\.php$ - [H=%{ENV:H}]"
    made = serving(tmp_path, f"{LOADED}SetEnvIf Host . H={EXAMPLE}\n{line}\n", version="2.2")
    assert messages(made) == []
    reply = fetch(made, "/a.php")
    assert (reply.status, "secret" in reply.body) == (500, False)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("AddHandler php-script .php", "php-script"),
        ("SetHandler fcgid-script", "fcgid-script"),
        ("AddHandler cgi-script .php", "cgi-script"),
        ("AddType application/x-httpd-php .php", "application/x-httpd-php"),
        ("ForceType application/x-httpd-php", "application/x-httpd-php"),
        ("AddHandler perl-script .php", "perl-script"),
        ("AddHandler wsgi-script .php", "wsgi-script"),
        ("AddHandler mod_python .php", "mod_python"),
        ("AddHandler x-httpd-php .php", "x-httpd-php"),
        ("AddHandler fastcgi-script .php", "fastcgi-script"),
        (f'AddHandler "{PHP_FPM}" .php', PHP_FPM),
        ("AddHandler my-own .php", "my-own"),
        ("RewriteEngine on\nRewriteRule php$ - [T=application/x-httpd-php]", "application/x-httpd-php"),
    ],
)
def test_no_loaded_module_implements_it(line: str, name: str, tmp_path: Path) -> None:
    """As httpd 2.4.71 does: the file is sent."""
    made = serving(tmp_path, line + "\n")
    (warning,) = messages(made)
    assert f'"{name}"' in warning
    assert ".conf:" in warning
    assert fetch(made, "/a.php").body == PROGRAM


INFO = "LoadModule info_module m/mod_info.so\n"
RUN = "SetHandler server-info"


@pytest.mark.parametrize(
    ("lines", "warns"),
    [
        (f'AddHandler my-own .php\n<FilesMatch "\\.php$">\n{RUN}\n</FilesMatch>', False),
        (f'<FilesMatch "\\.ph(p|tml)$">\n{RUN}\n</FilesMatch>\nAddHandler my-own .php .phtml', False),
        (f"AddHandler my-own .php\n<Files *.php>\n{RUN}\n</Files>", False),
        (f'AddType application/x-httpd-php .php\n<Files ~ "\\.php$">\n{RUN}\n</Files>', False),
        (f"<Directory /x>\nAddHandler my-own .php\n</Directory>\n<Files *.php>\n{RUN}\n</Files>", False),
        (f"<Directory /x>\nAddHandler my-own .php\n{RUN}\n</Directory>", False),
        (f"AddHandler my-own .php .phtml\n<Files *.php>\n{RUN}\n</Files>", True),
        (f"AddHandler my-own .php\n<Directory /x>\n<Files *.php>\n{RUN}\n</Files>\n</Directory>", True),
        (f"AddHandler my-own .php\n<Location /x>\n{RUN}\n</Location>", True),
        ("AddHandler my-own .php\n<Files *.php>\nSetHandler other\n</Files>", True),
        ("AddHandler my-own .php\n<Files *.php>\nSetHandler default-handler\n</Files>", True),
    ],
)
def test_a_handler_that_a_section_replaces_gives_no_warning(lines: str, warns: bool, tmp_path: Path) -> None:
    texts = messages(serving(tmp_path, f"{INFO}{lines}\n"))
    assert any("my-own" in text or "x-httpd-php" in text for text in texts) is warns


@pytest.mark.parametrize(
    "line",
    [
        "AddHandler my-own .php\nAction my-own /cgi-bin/run",
        "AddHandler default-handler .php",
        "SetHandler none",
        "AddType text/plain .php",
        "AddType application/x-tar .php",
        "SetHandler server-status",
    ],
)
def test_no_warning(line: str, tmp_path: Path) -> None:
    assert messages(serving(tmp_path, line + "\n")) == []


def test_check_only_passes(tmp_path: Path) -> None:
    """-t judges the line, which is right."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "httpd.conf").write_text(f"{LOADED}ServerName x\nSetHandler {EXAMPLE}\n")
    options = LoadOptions(server_root=str(tmp_path), file=str(tmp_path / "httpd.conf"), check_only=True)
    assert load(options, ALL, V22).handlers

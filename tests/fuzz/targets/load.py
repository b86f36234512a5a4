"""Configurations and .htaccess files: the check gives a status and a text, a file a layer or an error.

The first byte selects the version, and main configuration or .htaccess file. No name is looked up.
"""

from __future__ import annotations

import atexit
import shutil
import socket
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from unittest import mock

from tests.fuzz import seeds as recorded
from whimbrel.base.dialect import DIALECTS
from whimbrel.config.check import check
from whimbrel.config.configuration import Configuration
from whimbrel.config.htaccess import Override, parse
from whimbrel.config.load import load
from whimbrel.config.options import LoadOptions
from whimbrel.modules import ALL

COVERED = (
    "config/execute.py",
    "config/htaccess.py",
    "config/includes.py",
    "config/messages.py",
    "config/reader.py",
    "directives/command.py",
    "directives/shapes.py",
    "directives/tokens.py",
    "modules/core/config_language.py",
    "modules/core/mod_macro.py",
)
TOKENS = (
    b"<IfModule core.c>\n",
    b"</IfModule>\n",
    b"<IfDefine X>\n",
    b"Define X y\n",
    b"${X}",
    b"<Directory />\n",
    b"</Directory>\n",
    b"Use m a\n",
    b"<Macro m $a>\n",
    b"</Macro>\n",
    b"Require all granted\n",
    b"Options +Indexes\n",
    b"<If true>\n",
    b"</If>\n",
    b"Include conf/*.conf\n",
    b"\\\n",
    b'"',
    b"RewriteRule ^ - [L]\n",
    b"Header set A b\n",
    b"<Limit GET>\n",
    b"</Limit>\n",
    b"SetEnvIf A b c\n",
    b"ErrorDocument 404 /x\n",
    b"<VirtualHost *:80>\n",
    b"</VirtualHost>\n",
    b"Listen 80\n",
)
NAMES = (
    "access_compat alias allowmethods auth_basic authn_core authn_file authz_core authz_host authz_user "
    "autoindex deflate dir env expires filter headers include log_config macro mime negotiation proxy "
    "proxy_http remoteip rewrite setenvif status substitute version"
).split()
BEGIN = {
    "2.4": "LoadModule mpm_event_module m/mod_mpm_event.so\n"
    + "".join(f"LoadModule {name}_module m/mod_{name}.so\n" for name in NAMES),
    "2.2": "".join(
        f"LoadModule {name}_module m/mod_{name}.so\n"
        for name in NAMES
        if name not in ("access_compat", "allowmethods", "authn_core", "authz_core", "macro", "remoteip")
    ),
}
CHANGED = 60
SPACE = 4000  # bytes of the longest configuration


def numeric(host, port, *arguments, **options):  # type: ignore[no-untyped-def]
    """Stand for getaddrinfo where no name service answers."""
    options["flags"] = options.get("flags", 0) | socket.AI_NUMERICHOST
    return _getaddrinfo(host, port, *arguments, **options)


_getaddrinfo = socket.getaddrinfo


@cache
def root() -> Path:
    """Return a server root, which the process removes at its end."""
    path = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, path, True)
    for name in ("conf", "logs", "htdocs"):
        (path / name).mkdir()
    (path / "conf/a.conf").write_text("Define A b\n")
    return path


@cache
def served(version: str) -> Configuration:
    """Return a configuration below which .htaccess files are read."""
    options = LoadOptions(
        server_root=str(root()),
        file=f"{root()}/{version}.conf",
        check_only=True,
        overlay=_overlay(version, b""),
    )
    return load(options, ALL, DIALECTS[version])


def _overlay(version: str, text: bytes) -> dict[str, bytes]:
    return {f"{root()}/{version}.conf": BEGIN[version].encode() + b"ServerName localhost\n" + text}


def seeds() -> Sequence[bytes]:
    main = recorded.few(
        recorded.texts("config-lang", "config-args", "config-vhost", "core-sections", "authz-nested-2"), 50
    )
    main += [
        b"<Macro m $a $b>\nDefine X $a\nSetEnv $a $b\n</Macro>\nUse m x y\nUse m x\nUse n\nUndefMacro m\n",
        b"<Macro m $a>\n<Macro n>\nUse o\n</Macro>\nUse n\n</Macro>\nUse m 1\n"
        b"<Macro m>\nUse m\n</Macro>\nUse m\n",
        b"<IfFile conf/a.conf>\nInclude conf/*.conf\n</IfFile>\n<IfDirective Listen>\n"
        b"UnDefine A\n</IfDirective>\n",
        b"<IfSection If>\nError x ${A}\n</IfSection>\n<IfVersion >= 2.4>\nDefine A\n</IfVersion>\n"
        b"Warning x\n",
        b"IncludeOptional conf/none/*.conf\nInclude conf\nInclude conf/a.conf\nServerRoot x\n<Virtualhost>\n",
        b"<IfDefine !A>\n<IfModule !mod_x.c>\nListen 1\n</IfDefine>\n</IfModule>\n<Files ~ (>\n</Files>\n",
    ]
    below = recorded.few(recorded.files("config-htaccess", suffix=".htaccess"), 20)
    return [
        *(bytes([number % 2]) + text for number, text in enumerate(main)),
        *(b"\2" + text for text in below),
    ]


def run(data: bytes) -> None:
    switches = data[0] if data else 0
    version = "2.2" if switches & 1 else "2.4"
    text = data[1:SPACE]
    with mock.patch.object(socket, "getaddrinfo", numeric):
        if switches & 2:
            configuration = served(version)
            found = parse(
                configuration, configuration.main, f"{root()}/.htaccess", text, Override(31, 255, None)
            )
            assert (found.layer is None) == (found.error is not None)
        else:
            options = LoadOptions(
                server_root=str(root()), file=f"{root()}/{version}.conf", overlay=_overlay(version, text)
            )
            status, said = check(options, ALL, DIALECTS[version])
            assert status in (0, 1)
            assert said

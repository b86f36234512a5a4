"""What all processes of analysis share: code that is imported once, before they are forked.

A small configuration in memory goes through every job, so that the first job of a user's pays for no import.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from whimbrel.config.options import LoadOptions
from whimbrel.studio.analysis import Analysis
from whimbrel.studio.answers import Json
from whimbrel.studio.documents import Refused
from whimbrel.upgrade.source.reading import Sources

_FILE: Final = "/whimbrel-warming.conf"
_TEXT: Final = b"""ServerRoot /nonexistent
Listen 80
ServerName www.example.com
LoadModule rewrite_module modules/mod_rewrite.so
LoadModule auth_basic_module modules/mod_auth_basic.so
LoadModule authn_file_module modules/mod_authn_file.so
LoadModule authz_host_module modules/mod_authz_host.so
LoadModule authz_user_module modules/mod_authz_user.so
LoadModule alias_module modules/mod_alias.so
LoadModule dir_module modules/mod_dir.so
LoadModule mime_module modules/mod_mime.so
LoadModule headers_module modules/mod_headers.so
LoadModule log_config_module modules/mod_log_config.so
LoadModule setenvif_module modules/mod_setenvif.so
<Directory />
    Order allow,deny
    Allow from all
</Directory>
<Location /a>
    AuthType Basic
    AuthName a
    Require valid-user
</Location>
"""


def warm() -> None:
    """Run jobs on a configuration of ours; what they refuse does not matter."""
    options = LoadOptions(server_root="/nonexistent", file=_FILE, overlay={_FILE: _TEXT})
    analysis = Analysis(Sources(options=options))
    request: Json = {"url": "http://www.example.com/a"}
    jobs: tuple[tuple[str, Json], ...] = (
        ("answer", {"request": request, "dialect": "2.2", "quick": True}),
        ("compare", {"request": request, "old": {"dialect": "2.2"}, "new": {"dialect": "2.4"}}),
        ("findings", {}),
        ("log_line", {"line": '192.0.2.1 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.0" 200 1'}),
    )
    for job, arguments in jobs:
        with suppress(Refused):
            analysis.run(job, arguments, {})

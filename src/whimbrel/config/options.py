"""What a caller asks for when it has a configuration read: httpd's command line, as far as it concerns
reading.
"""

from __future__ import annotations

from collections.abc import Mapping

from whimbrel.base.lazy_dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadOptions:
    """httpd's ``-d -f -D -C -c -t`` and the surroundings that ``${NAME}`` and relative paths see.

    All text has one character per byte.  *file* is absolute or taken from the server root as it stands after
    the -C lines; *check_only* is ``-t``, *check_roots* is False for ``-T``, which looks at no DocumentRoot,
    *verbose* is ``-e debug``; *program* is the name in messages (``apache2:``), "" for the one that the
    dialect's recordings show.
    """

    server_root: str
    file: str = "conf/httpd.conf"
    defines: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    check_only: bool = False
    check_roots: bool = True
    verbose: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)
    program: str = ""

"""R17: lines of mod_wsgi that its releases for 2.4 read otherwise. Document: documents/R17-wsgi-lines.md"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from whimbrel.base.numbers import lower
from whimbrel.upgrade.model import Finding, Risk
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree
from whimbrel.upgrade.source.queries import lines_for_24

GONE: Final = {
    "wsgireloadmechanism": "remove it: a changed script restarts its daemon processes",
    "wsgioutputbuffering": "remove it: an application that needs a buffer has its own",
    "wsgiuserauthoritative": "remove it: AuthBasicProvider names all providers, in order",
    "wsgipy3kwarningflag": "remove it: it is about Python 2",
}
"""Directives of mod_wsgi 2 and 3, and what to do."""
_WITH_PYTHON: Final = ("wsgipythonhome", "wsgipythonpath", "wsgidaemonprocess")
_PYTHON_2: Final = re.compile(r"python-?2(?:\.\d)?(?![\d.]*3)", re.IGNORECASE).search
_GLOBAL: Final = "%{global}"


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield such lines."""
    for line in lines_for_24(tree, *GONE):
        text = f"mod_wsgi 4 does not have {line.node.name}"
        yield Finding("R17", line.place, text, GONE[line.name], Risk.BREAKS)
    for line in lines_for_24(tree, *_WITH_PYTHON):
        if _PYTHON_2(line.args):
            yield Finding(
                "R17",
                line.place,
                f"{line.node.name} names a Python 2, for which mod_wsgi 5 cannot be built",
                "name a virtual environment of Python 3 with the packages of the application",
                Risk.BREAKS,
            )
    yield from _groups(tree)
    yield from _interpreters(tree)


def _groups(tree: ConfigTree) -> Iterator[Finding]:
    """Yield Require group lines where a script of mod_wsgi has the groups."""
    if not tree.has("wsgiauthgroupscript"):
        return
    for line in lines_for_24(tree, "require"):
        if lower(next(iter(line.words()), "")) == "group":
            yield Finding(
                "R17",
                line.place,
                "Require group does not ask the script of WSGIAuthGroupScript in 2.4",
                "write Require wsgi-group with the same names, if the script has these groups",
                Risk.CLOSES,
            )


def _interpreters(tree: ConfigTree) -> Iterator[Finding]:
    """Yield the first WSGIDaemonProcess where no line selects the main interpreter."""
    lines = list(lines_for_24(tree, "wsgidaemonprocess"))
    aliases = list(lines_for_24(tree, "wsgiscriptalias", "wsgiscriptaliasmatch", "wsgiapplicationgroup"))
    if lines and not any(_GLOBAL in lower(line.args) for line in aliases):
        yield Finding(
            "R17",
            lines[0].place,
            "applications run in sub-interpreters, which many extension modules of Python 3 do not support",
            "add WSGIApplicationGroup %{GLOBAL}, with a process group for each application",
            Risk.COSMETIC,
        )


RULE = Rule("R17", "wsgi-lines", "Lines of mod_wsgi 2 and 3", check)

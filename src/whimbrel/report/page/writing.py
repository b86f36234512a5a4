"""A page as HTML: templates, style sheet, script, and the policy that lets nothing else run."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import time
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from whimbrel import __version__
from whimbrel.report.page.model import ReportPage
from whimbrel.report.page.rule_texts import rule_texts
from whimbrel.report.page.texts import number

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

STYLES: Final = ("base.css", "page.css")
SCRIPTS: Final = ("page.js",)
_QUOTED: Final = re.compile("`([^`]+)`")
_LINE_NUMBER: Final = re.compile(r"(:[0-9]+)\b")
_STATE: Final = re.compile("<(?=[/!sS])")
MAX_EAGER: Final = 300
"""Findings that are whole in the document."""


def write(page: ReportPage, now: float | None = None, eager: int = MAX_EAGER) -> str:
    """Return the document; *now* is the time that it names.

    Lines, notes and folds of the findings behind the first *eager* stand in a block of JSON, from where
    the script takes those that come into view: a browser opens thousands of findings at once.
    """
    from markupsafe import Markup

    style = "".join(map(_asset, STYLES))
    script = "".join(map(_asset, SCRIPTS))
    items = [item for group in page.groups for item in group.items]
    rules = rule_texts(item.rule for item in items) if page.has_rules else []
    documented = {rule.number for rule in rules}
    environment = _environment()
    late_items = items[eager:]
    body = environment.get_template("findings.html.j2").module.body  # type: ignore[attr-defined]
    bodies = [str(body(item, item.rule in documented)) for item in late_items]
    return environment.get_template("page.html.j2").render(
        page=page,
        rules=rules,
        documented=documented,
        late={item.anchor: at for at, item in enumerate(late_items)},
        late_bodies=Markup(json_block(bodies)),
        eager=eager,
        policy=policy(style, script),
        style=Markup(style),
        script=Markup(script),
        version=__version__,
        day=time.strftime("%Y-%m-%d", time.localtime(now)),
    )


def json_block(value: object) -> str:
    """Return *value* as JSON for a script element: nothing in it ends the element or begins another state of
    the parser (HTML, 13.2.5.4 and 13.2.5.17 to 13.2.5.31), which ``</``, ``<!`` and ``<script`` would.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return _STATE.sub(r"\\u003c", text)


def policy(style: str, script: str) -> str:
    """Return the Content-Security-Policy: this style sheet and this script, and nothing else."""
    return (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}"


@cache
def _asset(name: str) -> str:
    return (files("whimbrel.report.page") / name).read_text("utf-8")


def prose(text: str) -> Markup:
    """Return *text* with its markup escaped, and what stands between backticks as code."""
    from markupsafe import Markup, escape

    return Markup(_QUOTED.sub(r"<code>\1</code>", str(escape(text))))


def place(text: str) -> Markup:
    """Return *text* with its markup escaped, and the numbers of lines in it as words that do not break."""
    from markupsafe import Markup, escape

    return Markup(_LINE_NUMBER.sub(r'<span class="line">\1</span>', str(escape(text))))


@cache
def _environment() -> Environment:
    """Return the environment of the templates: everything is escaped, and a misspelt name is an error."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("whimbrel.report.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = number
    environment.filters["place"] = place
    environment.filters["prose"] = prose
    return environment

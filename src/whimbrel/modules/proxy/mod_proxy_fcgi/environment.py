"""The variables of a FastCGI request (send_environment, fix_cgivars)."""

from __future__ import annotations

from typing import Final

from whimbrel.base.numbers import upper
from whimbrel.engine.expressions import evaluate_match
from whimbrel.engine.request import Request
from whimbrel.expr.errors import EvalError
from whimbrel.expr.evaluation import EMPTY_MATCH
from whimbrel.modules.proxy.mod_proxy_fcgi.settings import EnvironmentFixup, FcgiDirConfig
from whimbrel.modules.support.cgi.environment import add_cgi_vars, add_common_vars, overlap

_MODULE: Final = "proxy_fcgi"
_BALANCER: Final = "proxy:balancer://"
_FCGI: Final = "proxy:fcgi://"


class FixupError(Exception):
    """A condition of ProxyFCGISetEnvIf that cannot be evaluated; it is logged."""


async def add_variables(r: Request) -> None:
    """Add the variables of the request to `r.env`; raises FixupError."""
    conf = r.dir_config(FcgiDirConfig)
    _strip_prefix(r, conf.is_generic)
    add_common_vars(r)
    await add_cgi_vars(r)
    for fixup in conf.fixups:
        _apply(r, fixup)


def _strip_prefix(r: Request, is_generic: bool) -> None:
    """Take scheme and host out of the file name, if it names a balancer, or for a generic application."""
    name = r.filename
    if name is None:
        return
    if name.startswith(_BALANCER):
        name = name[len(_BALANCER) :]
    elif is_generic and name.startswith(_FCGI):
        name = name[len(_FCGI) :]
    else:
        return
    if is_generic and r.args and name.endswith(f"?{r.args}"):
        name = name[: -1 - len(r.args)]
    slash = name.find("/")
    r.filename = name[slash:] if slash >= 0 else None


def _apply(r: Request, fixup: EnvironmentFixup) -> None:
    try:
        holds, found = evaluate_match(r, fixup.condition, _MODULE, EMPTY_MATCH)
    except EvalError as problem:
        text = f"fix_cgivars: Condition eval returned -1: {problem.reason}"
        r.log("error", text, code="AH10241", module=_MODULE)
        raise FixupError from None
    if not holds:
        return
    if fixup.value is None:
        name = next((each for each in r.env if upper(each) == upper(fixup.name)), None)
        if name is not None:
            del r.env[name]
        return
    try:
        value = fixup.value.text(r, _MODULE, found)
    except EvalError as problem:
        text = f"Error evaluating expression for replacement of {fixup.name}: '{problem.reason}'"
        r.log("info", text, code="AH03514", module=_MODULE)
        return
    before = r.env.get(fixup.name, "(null)")
    r.log("trace4", f"fix_cgivars: override {fixup.name} from '{before}' to '{value}'", module=_MODULE)
    overlap(r.env, {fixup.name: value})

"""mod_proxy_hcheck (2.4): members of balancers are checked periodically; failing ones are not used.

`checks.py` has the checks, which run in one worker.
"""

from __future__ import annotations

from whimbrel.base.errors import ConfigError, PostConfigError
from whimbrel.base.numbers import atoi, lower, upper
from whimbrel.base.static_typing import TYPE_CHECKING, Final
from whimbrel.catalogue.checks.numbers import timeout as milliseconds
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Versions
from whimbrel.directives.tokens import getword
from whimbrel.expr.api import compile_condition
from whimbrel.expr.errors import ExprError
from whimbrel.expr.library import HEAD, ExprFunction, ExprVariable
from whimbrel.modules.proxy.mod_proxy.model import HEALTH_METHODS, ProxyWorker
from whimbrel.modules.proxy.mod_proxy_hcheck.settings import HealthCheckServerConfig
from whimbrel.modules.support.setters import set_in_range
from whimbrel.registry.module import Module, Provider
from whimbrel.registry.settings import UNSET
from whimbrel.syntax.words import getword_braced

if TYPE_CHECKING:
    from whimbrel.config.configuration import Configuration
    from whimbrel.config.model import Server
    from whimbrel.engine.request import RequestEngine
    from whimbrel.expr.evaluation import Evaluation

_AJP: Final = "mod_proxy_ajp.c"  # implements the method CPING
MAX_NAME: Final = 16  # bytes of an expression's name with the NUL byte
MAX_URI: Final = 64
SHORTEST_INTERVAL: Final = 100  # milliseconds
# what a template has without parameters; the names are those of parameters of workers
_TEMPLATE: Final = {"hcmethod": "TCP", "hcinterval": "30000", "hcpasses": "1", "hcfails": "1"}
_PAIR: Final = "Invalid ProxyHCTemplate parameter. Parameter must be in the form 'key=value'"


def read_parameter(cmd: Command, to: dict[str, str], name: str, value: str) -> None:
    """Set one parameter in normal form in *to*: intervals in milliseconds, methods in upper case.

    Raises ConfigError with httpd's message (set_worker_hc_param).
    """
    conf = cmd.server_config(HealthCheckServerConfig)
    if name == "hctemplate":
        found = None if conf.templates is UNSET else conf.templates.get(lower(value))
        if found is None:
            raise ConfigError(f"Unknown ProxyHCTemplate name: {value}")
        to.update(found)
    elif name == "hcmethod":
        if upper(value) == "PROVIDER" or (upper(value) == "CPING" and not cmd.loaded(_AJP)):
            raise ConfigError(f"Health check method {value} not (yet) implemented")
        if upper(value) not in HEALTH_METHODS:
            raise ConfigError("Unknown method")
        to[name] = upper(value)
    elif name == "hcinterval":
        interval = milliseconds(value, "2.4")
        if interval is None or interval < SHORTEST_INTERVAL:
            raise ConfigError(f"Interval must be a positive value greater than {SHORTEST_INTERVAL}ms")
        to[name] = str(interval)
    elif name in ("hcpasses", "hcfails"):
        if atoi(value) < 0:
            raise ConfigError(f"{name[2:].capitalize()} must be a positive value")
        to[name] = str(atoi(value))
    elif name == "hcuri":
        if len(value) >= MAX_URI:
            raise ConfigError(f"Health check uri length must be < {MAX_URI} characters")
        to[name] = value
    elif name == "hcexpr":
        if conf.conditions is UNSET or value not in conf.conditions:
            raise ConfigError(f"Unknown health check condition expr: {value}")
        to[name] = value
    else:
        raise ConfigError("unknown Worker hcheck parameter")


def set_worker_parameter(cmd: Command, worker: ProxyWorker, name: str, value: str) -> None:
    """Set a parameter of a worker."""
    read_parameter(cmd, worker.parameters.health, name, value)


def set_template(cmd: Command, conf: HealthCheckServerConfig, arguments: list[str]) -> None:
    """Define a template: NAME key=value ..."""
    name, rest = getword(arguments[0])
    if not name:
        raise ConfigError("Missing template name for ProxyHCTemplate")
    parameters = dict(_TEMPLATE)
    while rest:
        word, rest = getword(rest)
        key, equals, value = word.partition("=")
        if not equals:
            raise ConfigError(_PAIR)
        try:
            read_parameter(cmd, parameters, lower(key), value)
        except ConfigError as problem:
            raise ConfigError(f"ProxyHCTemplate: {problem.reason} {word}; {name}") from None
    conf.templates = {**({} if conf.templates is UNSET else conf.templates), lower(name): parameters}


def set_condition(cmd: Command, conf: HealthCheckServerConfig, arguments: list[str]) -> None:
    """Define an expression: NAME {condition}."""
    name, rest = getword(arguments[0])
    if not name:
        raise ConfigError("Missing expression name for ProxyHCExpr")
    if len(name) >= MAX_NAME:
        raise ConfigError(f"Expression name limited to {MAX_NAME - 1} characters")
    text, rest = getword_braced(rest)
    if not text:
        raise ConfigError("Missing expression for ProxyHCExpr")
    try:
        condition = compile_condition(text, lookup=cmd.provider, place=f"{cmd.place.path}:{cmd.place.line}")
    except ExprError as problem:
        raise ConfigError(f'Could not parse expression "{text}": {problem.reason}') from None
    conf.conditions = {**({} if conf.conditions is UNSET else conf.conditions), name: condition}
    if getword(rest)[0]:
        raise ConfigError("error: extra parameter(s)")


def conditions_of(server: Server) -> dict[str, str]:
    """Return the texts of the expressions of *server* by name."""
    conf = server.config(HealthCheckServerConfig)
    return {name: condition.text for name, condition in conf.conditions.items()}


def check_watchdog(configuration: Configuration) -> None:
    """Raise PostConfigError without mod_watchdog."""
    if not configuration.loaded("watchdog_module"):
        raise PostConfigError(
            "proxy_hcheck", ("crit", "AH03262: mod_watchdog is required"), repeat_in_log=True
        )


def offer_methods(configuration: Configuration) -> None:
    """Name the methods that balancer-manager offers, "" for one that is not implemented."""
    has_ajp = configuration.loaded(_AJP)
    methods = tuple("" if name == "CPING" and not has_ajp else name for name in HEALTH_METHODS)
    configuration.modules.register_provider("proxy_hcheck", "methods", methods)


async def begin(engine: RequestEngine) -> None:
    """Start the checks in this worker."""
    from whimbrel.modules.proxy.mod_proxy_hcheck import checks  # a check of a configuration checks no member

    checks.start(engine)


def _body(evaluation: Evaluation, name: str) -> str | None:
    """Return the body of the response to a check."""
    body: str | None = getattr(evaluation.request, "body", None) if lower(name) == "body" else None
    return body if isinstance(body, str) else None


_READS: Final = frozenset((HEAD,))
MODULE: Final = Module(
    name="proxy_hcheck_module",
    source="mod_proxy_hcheck.c",
    versions=Versions.V24,
    server_config=HealthCheckServerConfig,
    server_setters={
        "ProxyHCTemplate": set_template,
        "ProxyHCExpr": set_condition,
        "ProxyHCTPsize": set_in_range(
            "limit", 0, None, "Invalid ProxyHCTPsize parameter. Parameter must be >= 0"
        ),
    },
    providers=(
        Provider("proxy_hcheck", "parameter", set_worker_parameter),
        Provider("proxy_hcheck", "conditions", conditions_of),
        Provider("expr_function", "hc", ExprFunction(_body, _READS)),
        Provider("expr_variable", "HC_BODY", ExprVariable(lambda e: _body(e, "body"), _READS)),
    ),
    post_config=(check_watchdog, offer_methods),
    worker_begins=(begin,),
)

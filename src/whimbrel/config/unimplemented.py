"""Directives without behaviour: validated with httpd's messages; the server refuses to start if one is used.

-t accepts a valid line. A directive that can be omitted without changing a response (catalogue/ignorable.tsv
gives the reason) only causes a warning.  A .htaccess file cannot stop a start, so such a line ends the
request there, as an unknown directive does.
"""

from __future__ import annotations

from functools import partial

from whimbrel.base.errors import ConfigError, StartError
from whimbrel.catalogue.checks import CheckContext, before, check_calls, declares, rule_of, warning
from whimbrel.catalogue.ignorable import ignorable_reason
from whimbrel.catalogue.load import DirectiveEntry as CatalogueRow
from whimbrel.config.configuration import Configuration
from whimbrel.config.execute import IN_SECTION, CommandContext
from whimbrel.config.handlers import is_implemented, lacking_module, unimplemented_words
from whimbrel.config.loaded import LineCheck
from whimbrel.config.model import Layer, SectionKind
from whimbrel.config.overridden_handlers import overridden
from whimbrel.directives.spec import Context
from whimbrel.directives.tokens import getword
from whimbrel.expr.errors import ExprError

SHOWN = 8
IN_PROXY = IN_SECTION | int(Context.PROXY_CONF)


def make_checker(row: CatalogueRow, version: str) -> LineCheck:
    """Return the function that checks a line of *row*; it raises ConfigError with httpd's message."""
    container = row.name[0] == "<"
    name = row.name.lower()

    def check(state: CommandContext, calls: list[list[str]]) -> None:
        if container and ">" not in state.node.args:
            raise ConfigError(f"{row.name}> directive missing closing '>'")
        if rule_of(row.source, name) or container:
            run_rules(state, row.source, name, calls, version)
        if container:
            _inside(state, name)

    return check


def run_rules(state: CommandContext, source: str, name: str, calls: list[list[str]], version: str) -> None:
    """Run the catalogue's rules of the directive *name* (lower case) of *source*; raises ConfigError."""
    context = check_context(state, version)
    for words in calls:
        warned = warning(source, name, words, context)
        for message_line in (warned, *warned.more) if warned is not None else ():
            state.warn(
                message_line.text, code=message_line.code, level=message_line.level, cause=message_line.cause
            )
    message = check_calls(source, name, calls, context)
    if message:
        raise ConfigError(message)
    for words in calls:
        for group, name_declared in declares(source, name, words, context):
            state.configuration.declare(group, name_declared)


def _inside(state: CommandContext, name: str) -> None:
    """Execute the contents of a container."""
    if name in ("<proxy", "<proxymatch"):
        pattern = getword(state.node.args.rpartition(">")[0])[0]
        state.execute_in(
            Layer(SectionKind.SERVER), pattern, IN_SECTION if state.dialect.contexts_22 else IN_PROXY
        )
    elif name[:5] not in ("<luah", "<luaq"):
        state.execute(state.node.children)


def check_context(state: CommandContext, version: str) -> CheckContext:
    """Return the values that rules may read, for the present directive."""
    configuration = state.configuration
    sections = tuple(name.lower() for name in state.node.sections())
    return CheckContext(
        version,
        configuration.root,
        configuration.modules.identifiers,
        configuration.declared_names.get("authn", frozenset()),
        bool(state.path) or state.in_htaccess,
        "<location" in sections or "<locationmatch" in sections,
        (),
        sections,
        state.path,
        configuration.declared_names,
        partial(_expression_error, state),
        configuration.disk.openable,
    )


def _expression_error(state: CommandContext, text: str, string: bool) -> str:
    from whimbrel.expr.parser import parse_condition, parse_string  # most configurations have no expressions

    try:
        (parse_string if string else parse_condition)(
            text, restricted=state.in_htaccess, lookup=state.provider
        )
    except ExprError as problem:
        return problem.reason
    return ""


# what happens to them ----------------------------------------------------------------------------


def warn_before(configuration: Configuration) -> None:
    """Emit the warnings of modules without behaviour, after reading and before execution."""
    modules = configuration.modules
    for module in modules.modules:
        message = before(module.source, modules.identifiers)
        if message is not None:
            configuration.warn(
                message.text,
                code=message.code,
                level=message.level,
                module=module.name.removesuffix("_module"),
                cause=message.cause,
            )


def refuse_start(configuration: Configuration) -> None:
    """Raise one StartError for directives without behaviour; warn about those that can be omitted."""
    refused = []
    for node, source in configuration.unimplemented:
        why = ignorable_reason(source, node.name, node.args, configuration.available)
        if why:
            configuration.warn(
                f"{node.place}: {node.name} ({source}) is left out: {why}", module="core", level="warn"
            )
        else:
            refused.append((node, source))
    named = set()
    names = {}
    replaced = overridden(
        configuration.handlers, lambda name: not name.endswith("*") and is_implemented(configuration, name)
    )
    for node, handler in configuration.handlers:
        lacking = lacking_module(configuration, handler)
        if lacking:
            refused.append((node, f"{lacking}.c"))
            names[id(node)] = f"{node.name} {handler}"
        elif id(node) not in replaced and handler not in named and not is_implemented(configuration, handler):
            named.add(handler)
            configuration.warn(
                f"{node.place}: {unimplemented_words(configuration, handler)}", module="core", level="warn"
            )
    if refused:
        raise StartError(
            _refusal([(str(node.place), names.get(id(node), node.name), source) for node, source in refused])
        )


def _refusal(lines: list[tuple[str, str, str]]) -> str:
    place, name, source = lines[0]
    text = (
        f"whimbrel: {place}: {name} ({source}) is right, but has no behaviour in Whimbrel yet, so this "
        f"configuration can't be served"
    )
    others = list(dict.fromkeys(other for _place, other, _source in lines if other != name))
    if not others:
        return text
    return text + (
        f"; nor have "
        f"{', '.join(others[:SHOWN])}{f' and {len(others) - SHOWN} more' if len(others) > SHOWN else ''}"
    )

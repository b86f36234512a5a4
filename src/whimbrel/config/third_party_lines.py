"""Lines of modules that httpd does not distribute and that have no behaviour here.

httpd stops at the first of them. Here the rest is read too, only to list every line with its product, effect
and substitute: the error that follows begins with httpd's own message. A module counts as loaded for
<IfModule>, so that no section vanishes with it.

WhimbrelIgnoreModule leaves out products whose absence lets no client in. A rule that reads a variable of
such a product would decide by nothing, so it is refused as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from whimbrel.base.errors import (
    ConfigError,
    ForeignModule,
    SourceLocation,
    StartError,
    ThirdPartyError,
    UnknownDirective,
)
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.catalogue.load import is_of_httpd
from whimbrel.catalogue.third_party import ThirdPartyProduct, find_module, product_of, product_of_directive
from whimbrel.config.configuration import Configuration
from whimbrel.config.model import all_nodes
from whimbrel.directives.node import Node

ADDRESS = "REMOTE_ADDR"
SHOWN_LINES = 8
MAX_CONSEQUENCES = 50
# Directives whose values only are written somewhere: a missing variable lets nobody in.
_WRITES = frozenset(("logformat", "customlog", "globallog", "errorlogformat", "header"))
_BY_ADDRESS = re.compile(r"remote_(?:addr|host|port)|\s-(?:R|ipmatch|strcmatch)\b", re.IGNORECASE)
_ADDRESS_WORDS = frozenset(("ip", "host", "local", "forward-dns"))


@dataclass(frozen=True, slots=True)
class ThirdPartyLine:
    """One line: *product* is None for an unknown module, *text* is what to show of it, *problem* has httpd's
    message; *messages* is the number of start-up messages before it, None if it was found after reading.
    """

    product: ThirdPartyProduct | None
    text: str
    problem: ConfigError
    args: str = ""
    messages: int | None = None


class ThirdPartyLines:
    """What was met while a configuration is read.

    Attributes:
        ignored: the products of WhimbrelIgnoreModule.
        left_out: their lines.
        refused: all other lines.
        consequences: errors after a refused line; the module could have prevented them.
    """

    def __init__(self) -> None:
        self.ignored: set[ThirdPartyProduct] = set()
        self.left_out: list[ThirdPartyLine] = []
        self.refused: list[ThirdPartyLine] = []
        self.consequences: list[ConfigError] = []
        self.modules: dict[str, ThirdPartyProduct | None] = {}

    @property
    def has_unknown_module(self) -> bool:
        """Return True if a module is loaded whose directives are in no table."""
        return None in self.modules.values()

    def separate(self, configuration: Configuration) -> None:
        """Separate the lines that are left out, and refuse rules that would need them."""
        waiting, self.refused = self.refused, []
        for line in waiting:
            is_decisive = line.product is not None and line.text.lower() in line.product.decisive
            is_left_out = line.product in self.ignored and not is_decisive
            (self.left_out if is_left_out else self.refused).append(line)
        if self.left_out:
            self.refused += self._readers(configuration.tree)

    def refuse_readers(self, nodes: list[Node]) -> None:
        """Raise ConfigError if a line of a .htaccess file reads a variable of an ignored product."""
        for line in self._readers(nodes):
            raise line.problem

    def _readers(self, nodes: list[Node]) -> Iterator[ThirdPartyLine]:
        for node in all_nodes(nodes):
            name = self.variable_of(node)
            if name:
                text = f"{node.name} reads {name} of a module that WhimbrelIgnoreModule leaves out"
                yield ThirdPartyLine(None, text, ConfigError(text, node.place))

    def variable_of(self, node: Node) -> str:
        """Return the variable of an ignored product that *node* reads, "" without one."""
        low = node.name.lower()
        if low in _WRITES or product_of_directive(low) in self.ignored:
            return ""
        for product in self.ignored:
            for pattern in product.variables:
                if pattern == ADDRESS and _reads_address(low, node.args):
                    return ADDRESS
                for name in self._names(product, pattern):
                    found = re.search(name, node.args, re.IGNORECASE)
                    if found is not None:
                        return found[0]
        return ""

    def _names(self, product: ThirdPartyProduct, pattern: str) -> Iterator[str]:
        """Return regular expressions of variables: *pattern* is one of `ThirdPartyProduct.variables`."""
        if pattern[0] != "~":
            yield rf"\b{re.escape(pattern.removesuffix('*'))}" + (r"\w*" if pattern[-1] == "*" else r"\b")
            return
        find = re.compile(pattern[1:])
        for line in self.left_out:
            if line.product is product:
                for name in find.findall(line.args):
                    yield rf"(?<![\w-]){re.escape(name)}(?![\w-])"


def _reads_address(name: str, args: str) -> bool:
    """Return True if a rule depends on the address of the client."""
    words = args.lower().split()
    if name == "require":
        return any(word in _ADDRESS_WORDS for word in words[:2]) or bool(_BY_ADDRESS.search(args))
    if name in ("allow", "deny"):
        return any(word not in ("from", "all") and not word.startswith("env=") for word in words)
    return bool(_BY_ADDRESS.search(args))


# what reading calls -------------------------------------------------------------------------------
def lines_of(configuration: Configuration) -> ThirdPartyLines:
    """Return the lines of *configuration*."""
    if configuration.third_party is None:
        configuration.third_party = ThirdPartyLines()
    return configuration.third_party


def add_module(
    configuration: Configuration, name: str, path: str, text: str, place: SourceLocation
) -> ForeignModule:
    """Record the LoadModule line of *name* in the file *path*, which counts as loaded; return its error,
    *text*, for a server that runs elsewhere.
    """
    base = path.rpartition("/")[2].removesuffix(".so")
    found = find_module(name) or find_module(base)
    sources = found[1].sources if found is not None else (f"mod_{name.removesuffix('_module')}.c",)
    configuration.modules.names |= {name, f"{base}.c", *sources}
    product = found[0] if found is not None else None
    # a product may be named by one of its modules
    own = base if product is not None and product.name.startswith("mod_") else ""
    of_product = "" if product is None else f"{own or product.name} ({product.effect})"
    problem = ForeignModule(text, of_product, path)
    if not configuration.options.is_elsewhere:
        problem.place = place
        problem.bare = True
        lines = lines_of(configuration)
        lines.modules[name] = product
        line = ThirdPartyLine(product, f"LoadModule {name}", problem, messages=len(configuration.messages))
        lines.refused.append(line)
    return problem


def takes(configuration: Configuration, node: Node, *, in_htaccess: bool) -> bool:
    """Return True if *node*, which no loaded module declares, is a line of a third-party module: it is
    recorded. A .htaccess file may have lines of ignored products only.
    """
    if is_of_httpd(node.name):
        return False
    product = product_of_directive(node.name)
    lines = configuration.third_party
    if in_htaccess:
        is_decisive = product is not None and node.name.lower() in product.decisive
        return lines is not None and product in lines.ignored and not is_decisive
    is_unknown = product is None and (lines is None or not lines.has_unknown_module)
    if is_unknown or (product is not None and product.is_built_in):
        return False
    problem = UnknownDirective(node.name, node.place)
    line = ThirdPartyLine(product, node.name, problem, node.args, len(configuration.messages))
    lines_of(configuration).refused.append(line)
    return True


def takes_consequence(configuration: Configuration, problem: ConfigError) -> bool:
    """Return True if *problem* is recorded, and reading goes on: the start is refused anyway."""
    lines = configuration.third_party
    if lines is None or len(lines.consequences) >= MAX_CONSEQUENCES:
        return False
    if all(line.product in lines.ignored for line in lines.refused):
        return False
    lines.consequences.append(problem)
    return True


def ignore_modules(configuration: Configuration, words: list[str]) -> None:
    """WhimbrelIgnoreModule: leave out products by the names of their modules; raises ConfigError for those
    without which a client could enter.
    """
    for word in words:
        product = product_of(word)
        if product is None:
            raise ConfigError(
                f"WhimbrelIgnoreModule: {word} is in no table of modules, so it may decide who may enter; it "
                f"can't be ignored"
            )
        if product.is_built_in:
            configuration.warn(
                f"WhimbrelIgnoreModule {word} has no effect: {product.name} is built in", module="so"
            )
        elif product.is_ignorable:
            lines_of(configuration).ignored.add(product)
        else:
            reason = "without it, clients could enter that it refuses"
            if product.effect == "application":
                reason = "without it, the text of programs could be sent, or requests would not be answered"
            raise ConfigError(f"WhimbrelIgnoreModule: {product.name} can't be ignored: {reason}")


# what follows reading -----------------------------------------------------------------------------
def finish(configuration: Configuration, cause: ConfigError | StartError | None = None) -> None:
    """Warn of what is left out; raise ThirdPartyError if anything is refused; *cause* ended reading."""
    lines = configuration.third_party
    if lines is None:
        return
    lines.separate(configuration)
    if lines.refused:
        if lines.refused[0].messages is not None:
            del configuration.messages[lines.refused[0].messages :]  # httpd stops at this line
        raise _refusal(lines, cause)
    if lines.consequences:
        raise lines.consequences[0]
    if lines.ignored:
        is_of_httpd("")  # a worker, which reads .htaccess files, may not be allowed to read the tables
    for product in sorted(lines.ignored, key=lambda product: product.name):
        own = [line for line in lines.left_out if line.product is product]
        if own:
            first = own[0].problem.place
            configuration.warn(
                f"WhimbrelIgnoreModule: {product.name} ({product.effect}) is left out: {len(own)} "
                f"{'line has' if len(own) == 1 else 'lines have'} no effect, the first at {first}",
                module="so",
            )


def _refusal(lines: ThirdPartyLines, cause: ConfigError | StartError | None) -> ThirdPartyError:
    first = lines.refused[0].problem
    if len(lines.refused) == 1 and lines.refused[0].product is None:
        return ThirdPartyError(first, ())
    details: list[str] = []
    groups: dict[str, list[ThirdPartyLine]] = {}
    for line in lines.refused:
        groups.setdefault(line.product.name if line.product is not None else "", []).append(line)
    for group in groups.values():
        if group[0].product is not None:
            details += _product_details(group[0].product, group)
        else:
            details.append("whimbrel: lines of modules that are not known here, or that need them:")
            details += _places(group)
    for problem in lines.consequences:
        details.append(f"  then {problem.place}: {problem.reason}")
    if isinstance(cause, ConfigError):
        details.append(f"whimbrel: reading ended at {cause.place}: {cause.reason}")
    return ThirdPartyError(first, tuple(details))


def _product_details(product: ThirdPartyProduct, group: list[ThirdPartyLine]) -> list[str]:
    """Return the lines about one product."""
    details = [f"whimbrel: {product.name} ({product.effect}) has no behaviour in Whimbrel:", *_places(group)]
    details.append(f"  instead: {product.successor}")
    if product.is_ignorable:
        name = product.modules[0].identifier.removesuffix("_module")
        details.append(f"  to serve without it: WhimbrelIgnoreModule {name}")
    return details


def _places(group: list[ThirdPartyLine]) -> list[str]:
    """Return one line for each directive of each file, with its numbers."""
    numbers: dict[tuple[str, str], list[int]] = {}
    for line in group:
        place = line.problem.place
        if place is not None:
            text = line.text if line.text[0] != "<" else f"{line.text}>"
            numbers.setdefault((place.path, text), []).append(place.line)
    details = []
    for (path, text), found in numbers.items():
        shown = ",".join(map(str, found[:SHOWN_LINES]))
        more = f",... ({len(found)} lines)" if len(found) > SHOWN_LINES else ""
        details.append(f"  {path}:{shown}{more} {text}")
    return details

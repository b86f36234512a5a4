r"""Modules that httpd does not distribute: `third_party.tsv`, one line for each product.

The fields, between tabs:

* product: its name in messages.
* modules: ``identifier=files=sources`` between blanks. The files are base names without ``.so``, the sources
  names of <IfModule>; both have alternatives between ``|``. The first file is that of `whimbrel.modules`.
* directives and handlers: names between blanks. ``Sec*`` is a prefix; ``!`` marks a directive that decides
  who may enter.
* providers: ``group:name`` between blanks, what the modules register beside handlers: of ``authn``,
  ``authz``, ``dav`` and ``output_filter`` (``*``: names that are not known here). ``require:word``: a Require
  line of 2.2 that one of them may grant. ``user:basic``: one of them may check passwords of AuthType Basic
  before httpd's own module.
* effect: application, access, protection, headers, speed, limits, logging.
* action: built-in; refused; ignorable, where WhimbrelIgnoreModule may name it.
* variables: names that the module gives to the rules of others, or ``~`` and a regular expression that finds
  such names in the arguments of its directives. REMOTE_ADDR stands for the client's address.
* successor: what to use in 2.4, without a period.

Only a module or directive that httpd does not have needs this file: import it where one is met.
"""

from __future__ import annotations

import os.path
from functools import cache

from whimbrel.base.latin1 import to_text
from whimbrel.base.lazy_dataclasses import dataclass

BUILT_IN = "built-in"
IGNORABLE = "ignorable"


@dataclass(frozen=True, slots=True)
class ThirdPartyModule:
    """One module of a product: *files* and *sources* have all its names, the usual one first."""

    identifier: str
    files: tuple[str, ...]
    sources: tuple[str, ...]

    @property
    def file(self) -> str:
        """Return the usual base name of the file."""
        return self.files[0].removesuffix("*")


@dataclass(frozen=True, slots=True)
class ThirdPartyProduct:
    """One line of the table; names of *directives* are as in the table, *decisive* has those that decide
    who may enter.
    """

    name: str
    modules: tuple[ThirdPartyModule, ...]
    directives: tuple[str, ...]
    decisive: frozenset[str]
    handlers: tuple[str, ...]
    providers: frozenset[str]
    effect: str
    action: str
    variables: tuple[str, ...]
    successor: str

    @property
    def is_built_in(self) -> bool:
        """Return True if Whimbrel has the module."""
        return self.action == BUILT_IN

    @property
    def is_ignorable(self) -> bool:
        """Return True if WhimbrelIgnoreModule may name it."""
        return self.action == IGNORABLE

    def may_register(self, group: str, name: str) -> bool:
        """Return True if a module of the product registers the provider *name*, or may do so."""
        return f"{group}:{name}" in self.providers or f"{group}:*" in self.providers


@cache
def products() -> tuple[ThirdPartyProduct, ...]:
    """Return the table."""
    with open(os.path.join(os.path.dirname(__file__), "third_party.tsv"), "rb") as file:
        return tuple(map(_product, to_text(file.read()).split("\n")[1:-1]))


def _product(line: str) -> ThirdPartyProduct:
    name, modules, directives, handlers, providers, effect, action, variables, successor = line.split("\t")
    names = directives.split()
    return ThirdPartyProduct(
        name,
        tuple(map(_module, modules.split())),
        tuple([name.removeprefix("!") for name in names]),
        frozenset([name[1:].lower() for name in names if name[0] == "!"]),
        tuple(handlers.split()),
        frozenset(providers.split()),
        effect,
        action,
        tuple(variables.split()),
        successor,
    )


def _module(text: str) -> ThirdPartyModule:
    identifier, files, sources = text.split("=")
    return ThirdPartyModule(identifier, tuple(files.split("|")), tuple(sources.split("|")))


def find_module(name: str) -> tuple[ThirdPartyProduct, ThirdPartyModule] | None:
    """Return a product and its module by identifier, source file or shared object, None for an unknown one.

    Directories, the ends ``.so``, ``.c`` and ``_module``, and the beginning ``mod_`` may be missing.
    """
    base = name.strip().rpartition("/")[2].removesuffix(".so").removesuffix(".c").removesuffix("_module")
    base = base.lower()
    exact, prefixes = _module_names()
    if base in exact:
        return exact[base]
    return next((found for prefix, found in prefixes if base.startswith(prefix)), None)


def module_of_file(file: str) -> ThirdPartyModule | None:
    """Return the built-in module in the shared object with the base name *file*."""
    found = find_module(file) if file.startswith(("mod_", "lib")) else None
    return found[1] if found is not None and found[0].is_built_in else None


@cache
def _module_names() -> tuple[
    dict[str, tuple[ThirdPartyProduct, ThirdPartyModule]],
    tuple[tuple[str, tuple[ThirdPartyProduct, ThirdPartyModule]], ...],
]:
    """Return what each name stands for, and the names that are prefixes, the longest first."""
    exact: dict[str, tuple[ThirdPartyProduct, ThirdPartyModule]] = {}
    prefixes: dict[str, tuple[ThirdPartyProduct, ThirdPartyModule]] = {}
    for product in products():
        for module in product.modules:
            bare = module.identifier.removesuffix("_module")
            names = [
                bare,
                f"mod_{bare}",
                *module.files,
                *(name.removesuffix(".c") for name in module.sources),
            ]
            for name in map(str.lower, names):
                if name[-1] == "*":
                    prefixes.setdefault(name[:-1], (product, module))
                exact.setdefault(name.removesuffix("*"), (product, module))
                exact.setdefault(name.removesuffix("*").removeprefix("mod_"), (product, module))
    return exact, tuple(sorted(prefixes.items(), key=lambda item: -len(item[0])))


def product_of(name: str) -> ThirdPartyProduct | None:
    """Return the product of a module's identifier, source file or shared object, None for an unknown one."""
    found = find_module(name)
    return None if found is None else found[0]


def product_of_directive(name: str) -> ThirdPartyProduct | None:
    """Return the product of a directive or section (with ``<``), None for an unknown one."""
    low = name.lower()
    exact, prefixes = _directive_names()
    if low in exact:
        return exact[low]
    return next((product for prefix, product in prefixes if low.startswith(prefix)), None)


@cache
def _directive_names() -> tuple[dict[str, ThirdPartyProduct], tuple[tuple[str, ThirdPartyProduct], ...]]:
    """Return the products by directive, and by prefix, the longest first."""
    exact: dict[str, ThirdPartyProduct] = {}
    prefixes: dict[str, ThirdPartyProduct] = {}
    for product in products():
        for name in map(str.lower, product.directives):
            if name[-1] == "*":
                prefixes[name[:-1]] = product
            else:
                exact[name] = product
    return exact, tuple(sorted(prefixes.items(), key=lambda item: -len(item[0])))

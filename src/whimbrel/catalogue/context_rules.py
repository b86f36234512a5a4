"""Context checks by a directive's own function, beyond the bits of its row: "X cannot occur within ...
section".

The function runs after the arguments were counted, so these messages come after "not allowed here" and "takes
one argument".
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.catalogue.load import DirectiveEntry

Places = frozenset[str]
NOWHERE: Places = frozenset()
FAMILIES = {
    "DIRECTORY": ("<directory", "<directorymatch"),
    "LOCATION": ("<location", "<locationmatch"),
    "FILES": ("<files", "<filesmatch", "<if", "<elseif", "<else"),
    "PROXY": ("<proxy", "<proxymatch"),
}
DIR_CONTEXT = frozenset({"LIMIT", "DIRECTORY", "LOCATION", "FILES", "PROXY"})
CONTEXT_GROUPS = {"GLOBAL_ONLY": DIR_CONTEXT | {"VIRTUALHOST"}, "DIR_CONTEXT": DIR_CONTEXT}


@dataclass(frozen=True, slots=True)
class DirectiveContext:
    """The context of one directive.

    Attributes:
        sections: the enclosing containers (``<Directory``, echoed as written), innermost first; none for
            .htaccess
        in_limit: inside <Limit>, <LimitExcept> or, in 2.4, a container of mod_authz_core
        is_per_directory: per-directory settings are being read (any section but <VirtualHost>, or a
            .htaccess file)
    """

    sections: Sequence[str] = ()
    in_limit: bool = False
    is_per_directory: bool = False
    in_virtual_host: bool = False
    in_htaccess: bool = False


def forbidden_places(row: DirectiveEntry) -> Places:
    """Return the contexts in which *row* is forbidden: httpd's NOT_IN_* bits by name."""
    return frozenset().union(*(CONTEXT_GROUPS.get(word, {word}) for word in row.forbidden_in))


def message(name: str, context_name: str) -> str:
    """Return the message about *context_name* (``directory context``), "" for none."""
    return (
        f"{name}{'>' if name.startswith('<') else ''} cannot occur within {context_name}"
        if context_name
        else ""
    )


def violated(forbidden: AbstractSet[str], context: DirectiveContext, version: str) -> str:
    """Return the enclosing context that is *forbidden*, as httpd names it; "" if none is.  Tests are in
    httpd's order.
    """
    is_24 = version == "2.4"
    if context.in_virtual_host and "VIRTUALHOST" in forbidden:
        return "<VirtualHost> section"
    # 2.4 names <Limit> for directives that are forbidden in any section.
    if context.in_limit and (forbidden & DIR_CONTEXT if is_24 else "LIMIT" in forbidden):
        return "<Limit> or <LimitExcept> section" if is_24 else "<Limit> section"
    if context.in_htaccess and "HTACCESS" in forbidden:
        return "htaccess files"
    if context.is_per_directory and forbidden >= (
        DIR_CONTEXT if is_24 else {"DIRECTORY", "LOCATION", "FILES"}
    ):
        return "directory context"
    return _section(forbidden, context)


def _section(forbidden: AbstractSet[str], context: DirectiveContext) -> str:
    """Return the nearest section of a forbidden family, families in httpd's order."""
    for family, names in FAMILIES.items():
        if family in forbidden:
            for section in context.sections:
                if section.lower() in names:
                    return f"{section}> section"
    return ""

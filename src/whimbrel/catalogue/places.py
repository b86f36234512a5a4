"""What a directive's own function says about the place where it stands, beyond the bits of its row: "X cannot occur within ... section".

The function of a directive runs after its words were counted, so this comes after "not allowed here" and "takes one argument".
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from whimbrel.catalogue.load import Row
from whimbrel.records import dataclass

FAMILIES = {
    "DIRECTORY": ("<directory", "<directorymatch"),
    "LOCATION": ("<location", "<locationmatch"),
    "FILES": ("<files", "<filesmatch", "<if", "<elseif", "<else"),
    "PROXY": ("<proxy", "<proxymatch"),
}
DIR_CONTEXT = frozenset({"LIMIT", "DIRECTORY", "LOCATION", "FILES", "PROXY"})
WHOLE = {"GLOBAL_ONLY": DIR_CONTEXT | {"VIRTUALHOST"}, "DIR_CONTEXT": DIR_CONTEXT}


@dataclass(frozen=True, slots=True)
class Spot:
    """Where one directive stands.

    *sections* are the names of the containers around it (``<Directory``, echoed as they are), innermost first, .htaccess
    having none of its own.  *limited*: inside <Limit>, <LimitExcept> or, in 2.4, a container of mod_authz_core.  *folder*: per-directory settings are
    being read (any section but <VirtualHost>, or a .htaccess file).
    """

    sections: Sequence[str] = ()
    limited: bool = False
    folder: bool = False
    virtual: bool = False
    htaccess: bool = False


def refusal(row: Row, spot: Spot, version: str) -> str | None:
    """The message of *row*'s function about standing at *spot*, or None where it may."""
    outside = frozenset().union(*(WHOLE.get(word, {word}) for word in row.outside))
    return told(row.name, misplaced(outside, spot, version)) or None


def told(name: str, place: str) -> str:
    """The message about *place* (``directory context``), "" for none."""
    return f"{name}{'>' if name.startswith('<') else ''} cannot occur within {place}" if place else ""


def misplaced(outside: AbstractSet[str], spot: Spot, version: str) -> str:
    """The place around *spot* that is among *outside*, as httpd calls it; "" where none is.  The tests come in httpd's order."""
    new = version == "2.4"
    if spot.virtual and "VIRTUALHOST" in outside:
        return "<VirtualHost> section"
    # 2.4 names <Limit> for whoever minds any section at all.
    if spot.limited and (outside & DIR_CONTEXT if new else "LIMIT" in outside):
        return "<Limit> or <LimitExcept> section" if new else "<Limit> section"
    if spot.htaccess and "HTACCESS" in outside:
        return "htaccess files"
    if spot.folder and outside >= (DIR_CONTEXT if new else {"DIRECTORY", "LOCATION", "FILES"}):
        return "directory context"
    return _section(outside, spot)


def _section(outside: AbstractSet[str], spot: Spot) -> str:
    """The nearest section of a family that is minded, families in httpd's order."""
    for family, names in FAMILIES.items():
        if family in outside:
            for section in spot.sections:
                if section.lower() in names:
                    return f"{section}> section"
    return ""

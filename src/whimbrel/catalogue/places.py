"""What a directive's own function says about the place where it stands, beyond the bits of its row: "X cannot occur within ... section".

The function of a directive runs after its words were counted, so this comes after "not allowed here" and "takes one argument".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from whimbrel.catalogue.load import Row

FAMILIES = {
    "DIRECTORY": ("<Directory", "<DirectoryMatch"),
    "LOCATION": ("<Location", "<LocationMatch"),
    "FILES": ("<Files", "<FilesMatch", "<If", "<ElseIf", "<Else"),
}
WHOLE = {"GLOBAL_ONLY": frozenset({"VIRTUALHOST", "LIMIT", "DIRECTORY", "LOCATION", "FILES", "HTACCESS"}),
         "DIR_CONTEXT": frozenset({"LIMIT", "DIRECTORY", "LOCATION", "FILES"})}


@dataclass(frozen=True, slots=True)
class Spot:
    """Where one directive stands.

    *sections* are the names of the containers around it as written in their modules' tables (``<Directory``), innermost first, .htaccess
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
    place = outside and (_place24(outside, spot) if version == "2.4" else _place22(outside, spot))
    return f"{row.name}{'>' if row.name.startswith('<') else ''} cannot occur within {place}" if place else None


def _place24(outside: frozenset[str], spot: Spot) -> str:
    if "HTACCESS" in outside and spot.htaccess:
        return "htaccess files"
    # 2.4 names <Limit> for whoever minds any section at all.
    if spot.limited and outside & WHOLE["DIR_CONTEXT"]:
        return "<Limit> or <LimitExcept> section"
    if spot.folder and outside >= WHOLE["DIR_CONTEXT"]:
        return "directory context"
    return "<VirtualHost> section" if spot.virtual and "VIRTUALHOST" in outside else _section(outside, spot)


def _place22(outside: frozenset[str], spot: Spot) -> str:
    if "HTACCESS" in outside and spot.htaccess:
        return "htaccess files"
    if spot.virtual and "VIRTUALHOST" in outside:
        return "<VirtualHost> section"
    if spot.limited and "LIMIT" in outside:
        return "<Limit> section"
    return "directory context" if spot.folder and outside >= {"DIRECTORY", "LOCATION", "FILES"} else _section(outside, spot)


def _section(outside: frozenset[str], spot: Spot) -> str:
    """The nearest section of a family that is minded, families in httpd's order."""
    for family, names in FAMILIES.items():
        if family in outside:
            for section in spot.sections:
                if section in names:
                    return f"{section}> section"
    return ""

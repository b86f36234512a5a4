"""Pattern of the variables of requests that differ in the values of fields, in the client and its port."""

from __future__ import annotations

from typing import Any, NamedTuple

from whimbrel.engine.deps.key_spec import ALWAYS
from whimbrel.engine.request import Request
from whimbrel.http.syntax.head_shape import LINE_PIECES, OTHER, TEXT, Fill, SplitHead
from whimbrel.modules.support.cgi.environment import field_variable


class VariablePattern(NamedTuple):
    """The variables (`variable_text`) of all requests of one shape and with the same relevant fields.

    Attributes:
        text: with ``%b`` in the place of each value that differs.
        fill: a function that puts the values of a head there, the client's address and its port.
        holes: what stands there: names of fields, `TEXT` and `OTHER` (http/syntax/head_shape.py).
        variables: the names of the variables with these values.
        shape: number of the shape.
    """

    text: bytes
    fill: Fill
    holes: tuple[bytes, ...]
    variables: frozenset[str]
    shape: int


def variable_pattern(r: Request, variables: bytes) -> VariablePattern | None:
    """Return the pattern of the *variables* of *r*; None without one.

    A field whose value is not that of one variable is noted as read, so that it is a relevant field.
    """
    split: SplitHead | None = r.engine.shapes.split(r.head.raw)
    texts = variables.split(b"\0")
    names = texts[::2]
    places = {name: 2 * number + 1 for number, name in enumerate(names)}
    if split is None or len(places) != len(names):
        return None
    connection = r.connection
    wanted = {b"REMOTE_ADDR": (TEXT, connection.client_text)}
    wanted[b"REMOTE_PORT"] = (OTHER, b"%d" % connection.client_port)
    wanted |= _fields(r, split)
    holes: dict[int, bytes] = {}
    found: set[str] = set()
    for name, (hole, value) in wanted.items():
        at = places.get(name)
        if at is not None and texts[at] == value:
            holes[at] = hole
            found.add(name.decode("latin-1"))
        elif hole in (TEXT, OTHER):
            return None
        else:
            r.headers_in.get(hole.decode("latin-1"))
    pattern = b"\0".join(
        [b"%b" if at in holes else text.replace(b"%", b"%%") for at, text in enumerate(texts)]
    )
    ordered = tuple([holes[at] for at in sorted(holes)])
    shape = split[2]
    return VariablePattern(pattern, shape.fill(ordered)[0], ordered, frozenset(found), shape.number)


def _fields(r: Request, split: SplitHead) -> dict[bytes, tuple[bytes, bytes]]:
    """Return by variable the fields that no phase has read: the name and the value of each."""
    _raw, pieces, shape, _is_printable = split
    headers: Any = r.headers_in
    found: dict[bytes, tuple[bytes, bytes]] = {}
    for position, sent in enumerate(shape.names, LINE_PIECES):
        low = sent.lower()
        name = low.decode("latin-1")
        variable = field_variable(r, sent.decode("latin-1")).encode("latin-1")
        if not variable or name in ALWAYS or name in headers.accessed:
            continue
        if variable in found:
            headers.get(name)
            headers.get(found.pop(variable)[0].decode("latin-1"))
            continue
        found[variable] = (low, pieces[position])
    return found

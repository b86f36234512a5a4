"""Every regular expression of the package takes time that is linear in its subject."""

from __future__ import annotations

import re
import time

from tests.meta.expressions import Expression, expressions
from tests.meta.pumped import pumped

LENGTH = 8000
SECONDS = 0.004  # linear searches of LENGTH characters take 0.3 ms, quadratic ones 6 ms and more
SHORT = (12, 18, 24, 400)  # lengths that find exponential time before a longer subject would never end
BOUNDED = {
    "whimbrel.modules.filters.mod_include.formatting:_ENTITY": "searches up to the last semicolon only",
    "whimbrel.cli.rewrite_cases:_HEADER": "a table that the user of rewrite-test writes",
}


def seconds(pattern: re.Pattern[str], method: str, subject: str) -> float:
    """Return the processor time of one call; repeated if it is long, as the machine may be busy."""
    call = getattr(pattern, method)
    arguments = ("", subject) if method in ("sub", "subn") else (subject,)
    taken = 1e9
    for _ in range(4):
        begin = time.process_time()
        result = call(*arguments)
        if method == "finditer":
            for _match in result:
                pass
        taken = min(taken, time.process_time() - begin)
        if taken < SECONDS:
            break
    return taken


def slowest(expression: Expression, length: int = LENGTH) -> tuple[float, str]:
    """Return the time of the worst subject of *length*, and the subject."""
    text = expression.pattern
    text = text.decode("latin-1") if isinstance(text, bytes) else text
    compiled = re.compile(text, expression.flags & ~re.UNICODE | re.ASCII)
    worst = (0.0, "")
    for size in (*SHORT, length):
        for subject in pumped(text, expression.flags, size):
            worst = max(worst, (seconds(compiled, expression.method, subject), subject))
            if worst[0] > SECONDS:
                return worst
    return worst


def test_each_expression_is_linear() -> None:
    known = expressions()
    assert len(known) > 300
    slow = [
        f"{each.place} {each.method}: {taken * 1000:.0f} ms for {subject[:40]!r}"
        for each in known
        if each.place not in BOUNDED
        for taken, subject in [slowest(each)]
        if taken > SECONDS
    ]
    assert slow == []


def test_a_quadratic_expression_is_found() -> None:
    for pattern, method in (("<meta[^>]*http-equiv", "search"), (r"\s*=", "search"), ("(a*)*b", "match")):
        taken, _subject = slowest(Expression("", pattern, 0, method))
        assert taken > SECONDS, pattern

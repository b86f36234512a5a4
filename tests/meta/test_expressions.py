"""Every regular expression of the package takes time that is linear in its subject."""

from __future__ import annotations

import re
import time

from tests.meta.expressions import Expression, expressions
from tests.meta.pumped import pumped

LENGTH = 8000
SECONDS = 0.004  # linear searches of LENGTH characters take 0.3 ms, quadratic ones 6 ms and more
PAUSES = (0.0, 0.0, 0.0, *(0.05,) * 12)
LONG = 0.5  # seconds of all calls after which a search is called slow
SHORT = (12, 18, 24, 400)  # lengths that find exponential time before a longer subject would never end
BOUNDED = {
    "whimbrel.modules.filters.mod_include.formatting:_ENTITY": "searches up to the last semicolon only",
    "whimbrel.cli.rewrite_cases:_HEADER": "a table that the user of rewrite-test writes",
    "whimbrel.cli.apachectl:194": "the own server's status page, whose values are escaped",
    "whimbrel.cli.apachectl:198": "the own server's status page, whose values are escaped",
    "whimbrel.cli.apachectl:199": "the own server's status page, whose values are escaped",
    "whimbrel.http.client.response_reader:_FIELDS": "each line has been found to have a colon and its end",
    "whimbrel.modules.loggers.mod_log_config.writer:_HEAD": "a LogFormat, which no .htaccess file may have",
    "whimbrel.replay.log_format:_ITEM": "a LogFormat, which no .htaccess file may have",
    "whimbrel.modules.proxy.mod_proxy.proxy_pass:_VARIABLE": "a ProxyPass, which no .htaccess file may have",
    "whimbrel.modules.ssl.mod_ssl.dh_groups:_BLOCK": "a key file of the server",
    "whimbrel.modules.ssl.mod_ssl.key_files:_KEY": "a key file of the server",
    "whimbrel.modules.ssl.mod_ssl.key_files:_CERTIFICATE": "a key file of the server",
    "whimbrel.modules.ssl.mod_ssl.key_files:_CRL": "a key file of the server",
    "whimbrel.upgrade.edits.load_module:_LINE": "a LoadModule, which no .htaccess file may have",
}
# Read by the tools only, one line or one argument at a time; a line of 8 kB takes half a second at most.
TOOLS = frozenset(
    (
        "whimbrel.access.samples:_CLASS",
        "whimbrel.upgrade.rules.core.r07_merged_slashes:_ASIDE",
        "whimbrel.upgrade.rules.rewriting.lines:_PIECE",
        "whimbrel.upgrade.rules.rewriting.patterns:_ATOM",
        "whimbrel.verify.derive.conditions:_COMPARISON",
        "whimbrel.verify.derive.conditions:83",
    )
)


def seconds(pattern: re.Pattern[str], method: str, subject: str) -> float:
    """Return the processor time of one call.

    A long one is repeated, with pauses: a machine that is busy makes calls longer, but not each of them.
    """
    call = getattr(pattern, method)
    arguments = ("", subject) if method in ("sub", "subn") else (subject,)
    taken = 1e9
    spent = 0.0
    for pause in PAUSES:
        time.sleep(pause)
        begin = time.process_time()
        result = call(*arguments)
        if method == "finditer":
            for _match in result:
                pass
        spent += time.process_time() - begin
        taken = min(taken, time.process_time() - begin)
        if taken < SECONDS or spent > LONG:
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
        if each.place not in BOUNDED and each.place not in TOOLS
        for taken, subject in [slowest(each)]
        if taken > SECONDS
    ]
    assert slow == []


def test_a_quadratic_expression_is_found() -> None:
    for pattern, method in (("<meta[^>]*http-equiv", "search"), (r"\s*=", "search"), ("(a*)*b", "match")):
        taken, _subject = slowest(Expression("", pattern, 0, method))
        assert taken > SECONDS, pattern

"""httpd's tokenizer: split the text after a directive's name into arguments, and expand ``${NAME}`` before
that.

Sources: manual, configuring.html ("Syntax") and mod/core.html#define; the rest is observed on running
servers.  2.2 and 2.4 split alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from whimbrel.base.lazy_re import compile
from whimbrel.syntax import words as plain
from whimbrel.syntax.words import skip_blanks

_WORDS = compile(r"[^ \t\n\v\f\r]+")
_QUOTING = compile(r"""["'\\]""")


def getword(text: str) -> tuple[str, str]:
    """Return the first argument of *text* and the rest without leading blanks.  An empty argument with an
    empty rest is the end, or a last ``""``.
    """
    word, at = plain.getword(text)
    return word, text[at:]


def words(text: str) -> list[str]:
    """Return all arguments of *text*; quoted empty ones count."""
    if not _QUOTING.search(text):
        return _WORDS.findall(text)
    arguments = []
    at = skip_blanks(text)
    while at < len(text):
        word, at = plain.getword(text, at)
        arguments.append(word)
    return arguments


Lookup = Callable[[str], "str | None"]


def variables(defined: Mapping[str, str], environment: Mapping[str, str]) -> Lookup:
    """Return the values of ``${NAME}``: variables of Define (keys in lower case, matched without case), then
    the environment (matched with case).
    """

    def lookup(name: str) -> str | None:
        value = defined.get(name.lower())
        return environment.get(name) if value is None else value

    return lookup


def expand(text: str, lookup: Lookup, undefined: Callable[[str], None] | None = None) -> str:
    """Return *text* with every ``${NAME}`` replaced by the result of *lookup*; values are not expanded again.

    This precedes splitting, so quotes and backslashes protect nothing.  A name ends at the first ``}``.  An
    unknown name stays as written and is passed to *undefined*: 2.4 then warns with `undefined_warning`, 2.2
    does not.  Names with a colon are rewrite maps and are not reported.
    """
    pieces = []
    done = 0
    while (start := text.find("${", done)) >= 0 and (end := text.find("}", start + 2)) >= 0:
        name = text[start + 2 : end]
        value = lookup(name)
        if value is None and undefined and ":" not in name:
            undefined(name)
        pieces += [text[done:start], text[start : end + 1] if value is None else value]
        done = end + 1
    return "".join([*pieces, text[done:]]) if done else text


def undefined_warning(name: str) -> str:
    """Return the warning of 2.4 (module core, level warn) about an undefined variable."""
    return f"AH00111: Config variable ${{{name}}} is not defined"

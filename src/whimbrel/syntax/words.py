"""One argument of a configuration line, as httpd reads it: quotes, backslashes, white space.

Both versions read arguments alike.  White space is that of C's isspace(): blank, tab, newline, vertical tab,
form feed, carriage return, and nothing of Latin-1 (str.split would also split at a no-break space).
"""

from __future__ import annotations

import re

from whimbrel.base.lazy_re import compile

WHITE = " \t\n\v\f\r"

_BLANKS = compile(r"[ \t\n\v\f\r]*")
_BRACE = compile(r"\\\\|[{}]|[^\\{}]+|\\", re.DOTALL)
_BARE = compile(r"[^ \t\n\v\f\r]+")
_PLAIN = compile(
    r"""[ \t\n\v\f\r]*([^ \t\n\v\f\r"'\\][^ \t\n\v\f\r\\]*)(?:[ \t\n\v\f\r]+|\Z)"""
)  # a word without special characters
_QUOTED = {quote: compile(rf"(?:[^\\{quote}]|\\[\\{quote}]|\\)*") for quote in "\"'"}
_GAP = compile(r"[ \t]*")
_ARGUMENT = {
    "": compile(r"""(?:\\[ \t"']|[^ \t])*"""),
    '"': compile(r"""(?:\\[ \t"']|[^"])*"""),
    "'": compile(r"""(?:\\[ \t"']|[^'])*"""),
}
_ANY_ESCAPED = compile(r"\\(.?)", re.DOTALL)
_ESCAPED = {"": compile(r"\\(\\)"), '"': compile(r'\\([\\"])'), "'": compile(r"\\([\\'])")}


def getword(text: str, at: int = 0) -> tuple[str, int]:
    """Return the word that begins at or after *at*, without its quotes, and the start of the next one.

    At the end of the text the word is empty and the position is the length of the text. A quoted empty word
    is empty too, so only the position distinguishes them.  A quote opens only at the beginning of a word and
    ends the word where it closes; adjacent text is the next word. An unclosed quote extends to the end.  Two
    backslashes are one, and inside quotes a backslash escapes that quote.
    """
    plain = _PLAIN.match(text, at)
    if plain:
        return plain[1], plain.end()
    start = _end(_BLANKS, text, at)
    quote = text[start : start + 1]
    if quote in _QUOTED:
        end = _end(_QUOTED[quote], text, start + 1)
        word, end = text[start + 1 : end], min(end + 1, len(text))
    else:
        quote = ""
        end = _end(_BARE, text, start)
        word = text[start:end]
    return unescaped(word, quote), _end(_BLANKS, text, end)


def quoted(word: str) -> str:
    """Return *word* as an argument, quoted if necessary: `getword` reads it as *word* again."""
    if word and not any(char in word for char in f"{WHITE}\"'\\"):
        return word
    out = []
    for at, char in enumerate(word):
        is_escape = char == "\\" and word[at + 1 : at + 2] in ("\\", '"', "")
        out.append("\\" + char if char == '"' or is_escape else char)
    return '"' + "".join(out) + '"'


def getword_braced(text: str) -> tuple[str, str]:
    """Return the first word and the rest, like `getword`, but a word in braces (2.4: ProxyHCExpr) extends to
    the matching brace and loses both.
    """
    start = skip_blanks(text)
    if text[start : start + 1] != "{":
        word, at = getword(text)
        return word, text[at:]
    end = _closing_brace(text, start + 1)
    return unescaped(text[start + 1 : end]), text[skip_blanks(text, min(end + 1, len(text))) :]


def _closing_brace(text: str, at: int) -> int:
    depth = 1
    for token in _BRACE.finditer(text, at):
        depth += {"{": 1, "}": -1}.get(token[0], 0)
        if not depth:
            return token.start()
    return len(text)


def unescaped(word: str, quote: str = "") -> str:
    """Return *word* with each pair of backslashes, and each backslash before *quote*, reduced to its second
    character.
    """
    return _ESCAPED[quote].sub(r"\1", word) if "\\" in word else word


def skip_blanks(text: str, at: int = 0) -> int:
    """Return the first position from *at* on without white space."""
    return _end(_BLANKS, text, at)


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at


def tokenize_argv(text: str) -> list[str]:
    """Split a command line as apr_tokenize_to_argv does.

    Blanks and tabs separate words.  A quote opens only at the beginning of a word and ends it where it
    closes; a backslash quotes the next character.
    """
    words = []
    at = _end(_GAP, text, 0)
    while at < len(text):
        quote = text[at] if text[at] in _ARGUMENT and text[at] else ""
        at += len(quote)
        end = _end(_ARGUMENT[quote], text, at)
        words.append(_ANY_ESCAPED.sub(r"\1", text[at:end]))
        at = _end(_GAP, text, end + len(quote))
    return words

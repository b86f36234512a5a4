"""mod_log_debug's argument rules; the message and the condition are expressions."""

from __future__ import annotations

from whimbrel.catalogue.checks.rules import Around, Rule, expression

MESSAGE = expression("Could not parse message expression '{0}'", string=True)


def _message(words: list[str], around: Around) -> str | None:
    """The message, and hook= and expr= in any order."""
    wrong = MESSAGE(words, around)
    for word in words[1:] if not wrong else ():
        kind = word[:5].lower()
        if kind == "expr=":
            wrong = expression(f"Could not parse expression '{word[5:]}'", string=False)([word[5:]], around)
        elif kind != "hook=":
            wrong = f"Invalid argument {word}"
        if wrong:
            break
    return wrong


CHECKS: dict[str, Rule] = {"logmessage": _message}

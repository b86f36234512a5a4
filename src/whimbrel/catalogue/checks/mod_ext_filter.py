"""mod_ext_filter's argument rules."""

from __future__ import annotations

from whimbrel.catalogue.checks.rules import CheckContext, Rule

KEYS = (
    "preservescontentlength",
    "mode=",
    "ftype=",
    "enableenv=",
    "disableenv=",
    "intype=",
    "outtype=",
    "cmd=",
)
OPTIONS = ("logstderr", "nologstderr", "onfail=remove", "onfail=abort")


def _option(words: list[str], around: CheckContext) -> str | None:
    word = words[0].lower()
    good = word in OPTIONS or (around.version == "2.2" and word.startswith("debuglevel="))
    return None if good else f"Invalid ExtFilterOptions option: {words[0]}"


def _define(words: list[str], around: CheckContext) -> str | None:
    rest = words[0].partition(" ")[2].strip()
    while rest:
        lower = rest.lower()
        if not lower.startswith(KEYS):
            return f"Unexpected parameter: `{rest}'"
        if lower.startswith("cmd="):
            if rest[4:5] == '"' and '"' not in rest[5:]:
                return "Expected cmd= delimiter"
            rest = (rest[5:].partition('"') if rest[4:5] == '"' else rest.partition(" "))[2].strip()
            continue
        word, _, rest = rest.partition(" ")
        rest = rest.strip()
        if word.lower().startswith("mode=") and word[5:] not in ("output", "input"):
            return f"Invalid mode: `{word[5:]}'"
    return None


CHECKS: dict[str, Rule] = {"extfilteroptions": _option, "extfilterdefine": _define}

"""Explanations for `whimbrel explain`: rows of the table of changes, codes, messages, symptoms, directives
and modules.

`codes.tsv` has one line for each AH code: code, module, message, meaning, advice, rows. `messages.tsv` has
one regular expression for each message without code and each symptom, with its codes and rows; the first
match counts.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from functools import cache
from typing import Final

from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.catalogue import catalogue
from whimbrel.catalogue.load import WHERE, DirectiveEntry, ModuleEntry
from whimbrel.catalogue.third_party import ThirdPartyProduct, product_of, product_of_directive
from whimbrel.upgrade.model import DIFFERENCE, LOAD_ERROR, NO_FIXPOINT, READ_ERROR
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.rules import all_rules

DIRECTORY: Final = os.path.dirname(__file__)
VERSIONS: Final = ("2.2", "2.4")
ROW_NUMBER: Final = re.compile(r"[CRX]\d\d\Z", re.IGNORECASE)
AH_CODE: Final = re.compile(r"AH\d{5}", re.IGNORECASE)
_FINDINGS: Final = re.compile(r"```(?:findings|options)\n.*?```\n?", re.DOTALL)
NO_RULES: Final = (READ_ERROR, LOAD_ERROR, DIFFERENCE, NO_FIXPOINT)
"""What heads findings of no rule; each has its document."""
_CODE_OR_SECTION: Final = re.compile(r"(?s)```.*?```|`[^`]*`|<[A-Z][^<>`\n]*>")
INVALID: Final = re.compile(r"Invalid command '([^']+)'", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Explanation:
    """One explanation.

    *kind* is rule, finding, code, directive, module or message; *body* is Markdown with its own heading.
    """

    kind: str
    name: str
    title: str
    body: str
    rows: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MessageCode:
    """One AH code; *message* is httpd's text, with printf's places for values, "" for one of several."""

    code: str
    module: str
    message: str
    meaning: str
    advice: str
    rows: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MessagePattern:
    """The pattern of a message or symptom, with its codes and rows."""

    pattern: re.Pattern[str] = field(repr=False)
    codes: tuple[str, ...]
    rows: tuple[str, ...]


def explain(query: str) -> list[Explanation]:
    """Return the explanations of *query*, the likeliest first; [] if nothing matches."""
    query = query.strip()
    if ROW_NUMBER.match(query):
        return _rule(query.upper())
    if query in NO_RULES:
        body = _text(f"no_rule/{query}.md")
        return [Explanation("finding", query, _title(query), body)]
    explanations = [
        explanation
        for code in dict.fromkeys(code.upper() for code in AH_CODE.findall(query))
        for explanation in _code(code)
    ]
    invalid = INVALID.search(query)
    if invalid:
        explanations.append(_invalid_command(invalid[1], "/.ht" in query))
    if explanations or not query:
        return explanations
    return (
        directive(query)
        or module(query)
        or third_party(query)
        or _message(query)
        or directive(query.split()[0])
    )


def meaning_of(code: str) -> str:
    """Return the meaning of an AH code with the advice, as sentences; "" for an unknown one."""
    known = codes().get(code)
    return " ".join(_sentence(text) for text in (known.meaning, known.advice) if text) if known else ""


def suggestions(query: str) -> list[str]:
    """Return names similar to *query*, the most similar first."""
    names = {name.lower(): name for name in _names()}
    return [names[match] for match in get_close_matches(query.strip().lower(), names, 5, 0.7)]


def search(word: str) -> list[tuple[str, str]]:
    """Return rows and codes with one line each, restricted to those that contain *word*,
    documents included."""
    wanted = word.lower()
    entries = [
        (rule.number, rule.title)
        for rule in all_rules()
        if wanted in f"{rule.number} {rule.title} {document(rule)}".lower()
    ]
    entries += [
        (number, _title(number)) for number in NO_RULES if wanted in _text(f"no_rule/{number}.md").lower()
    ]
    texts = {
        code: " ".join((code.code, code.module, code.meaning, code.advice)).lower()
        for code in codes().values()
    }
    entries += [(code.code, code.meaning) for code, text in texts.items() if wanted in text]
    return entries


# tables ------------------------------------------------------------------------------------------
@cache
def codes() -> dict[str, MessageCode]:
    """Return all known AH codes."""
    return {
        line[0]: MessageCode(line[0], line[1], line[2], line[3], line[4], _split(line[5]))
        for line in _lines("codes.tsv")
    }


@cache
def message_patterns() -> tuple[MessagePattern, ...]:
    """Return the patterns of all known messages and symptoms."""
    return tuple(
        MessagePattern(re.compile(line[0], re.IGNORECASE), _split(line[1]), _split(line[2]))
        for line in _lines("messages.tsv")
    )


def _lines(name: str) -> Iterator[list[str]]:
    with open(os.path.join(DIRECTORY, name), encoding="ascii") as file:
        return iter([line.split("\t") for line in file.read().split("\n")[1:-1]])


def _split(text: str) -> tuple[str, ...]:
    return tuple(text.split(",")) if text else ()


def rule_of(number: str) -> Rule | None:
    """Return the rule of a row, or the one that covers it."""
    rules = all_rules()
    exact_match = next((rule for rule in rules if rule.number == number), None)
    return exact_match or next((rule for rule in rules if number in rule.also), None)


def document(rule: Rule) -> str:
    """Return the Markdown document of a rule."""
    try:
        return _text(f"{rule.number}-{rule.name}.md")
    except FileNotFoundError:
        return f"# {rule.number} {rule.title}\n"


def _text(name: str) -> str:
    with open(os.path.join(DIRECTORY, name), encoding="utf-8") as file:
        return file.read()


def _title(number: str) -> str:
    """Return the title of what heads findings of no rule."""
    return _text(f"no_rule/{number}.md").partition("\n")[0].removeprefix(f"# {number} ")


def documents_of(numbers: Iterable[str]) -> dict[str, str]:
    """Return the documents of the rules with these numbers; a number without a rule has none."""
    rules = {number: rule_of(number) for number in numbers}
    return {number: document(rule) for number, rule in rules.items() if rule is not None}


# rows, codes, messages ----------------------------------------------------------------------------
def _rule(number: str) -> list[Explanation]:
    rule = rule_of(number)
    if rule is None:
        return []
    return [Explanation("rule", number, rule.title, manual(rule), (rule.number, *rule.also))]


def _invalid_command(name: str, in_htaccess: bool) -> Explanation:
    """Return the explanation of a directive that a server does not know: what it leads to, and what helps."""
    effect = (
        "Requests for the directory of this .htaccess file, and below it, get status 500; the server runs on."
        if in_htaccess
        else "The server does not start."
    )
    known = directive(name)
    new = catalogue("2.4").find(name.lower()) or catalogue("2.4").find(f"<{name.lower()}")
    sources = {row.source for row in new}
    modules = [row for row in catalogue("2.4").modules if row.source in sources]
    loadable = [row for row in modules if row.file.startswith("mod_") and row.file != "mod_so"]
    if new and loadable:
        files = " or ".join(row.file for row in loadable)
        reason = f"{name} is a directive of {files}, which this server does not load."
        lines = [f"`LoadModule {row.identifier} modules/{row.file}.so`" for row in loadable]
        advice = f"Load it: {' or '.join(lines)}"
    elif new:
        reason = f"{name} is a directive of httpd itself, which each server has."
        advice = "Write the line anew: its name has a character that is not visible"
    elif known:
        reason = f"2.2 has {known[0].name}, 2.4 does not."
        advice = f"See the rows below: `whimbrel explain {known[0].rows[0]}`" if known[0].rows else ""
    else:
        close = get_close_matches(name.lower(), [row.name.lower() for row in catalogue("2.4")], 3, 0.75)
        spelled = [next(row.name for row in catalogue("2.4") if row.name.lower() == low) for low in close]
        reason = "No module of httpd has a directive of this name."
        advice = (
            f"Is it misspelled? Similar: {', '.join(spelled)}"
            if spelled
            else "Correct the name, or load the module of another vendor that has it"
        )
    parts = [f"# Invalid command '{name}'", "", "## What it means", reason, effect]
    parts += ["", "## What to do", marked_up(_sentence(advice))] if advice else []
    bodies = ["\n".join([*parts, ""]), *(one.body for one in known or third_party(name))]
    rows = known[0].rows if known else ()
    return Explanation("message", name, reason, "\n".join(bodies), rows)


def manual(rule: Rule) -> str:
    """Return the document of a rule for operators: without the examples that hold what tests check."""
    head, *sections = document(rule).split("\n## ")
    parts = [_FINDINGS.sub("", section) for section in sections if _is_manual(section)]
    return "\n## ".join([head, *parts]).rstrip("\n") + "\n"


def _is_manual(section: str) -> bool:
    """Return True for prose, and for an example that has the text before and after."""
    fences = {line.split()[1] for line in section.split("\n") if line.startswith("```") and " " in line}
    return not fences or ("after" in fences and "unchanged" not in fences)


def _code(name: str) -> list[Explanation]:
    code = codes().get(name)
    return [Explanation("code", name, code.meaning, _code_text(code), code.rows)] if code is not None else []


def _code_text(code: MessageCode) -> str:
    parts = [f"# {code.code} ({code.module}, httpd 2.4)"]
    parts += ["", f"`{code.message}`"] if code.message else []
    parts += ["", "## What it means", marked_up(_sentence(code.meaning))]
    if code.advice:
        parts += ["", "## What to do", marked_up(_sentence(code.advice))]
    return "\n".join([*parts, *_row_lines(code.rows)]) + "\n"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?")) else ".")


def marked_up(text: str) -> str:
    """Return *text* as Markdown: the name of a section outside of code is code, else it would be markup."""
    return _CODE_OR_SECTION.sub(lambda found: found[0] if found[0][0] == "`" else f"`{found[0]}`", text)


def _row_lines(rows: tuple[str, ...]) -> list[str]:
    covered = [(row, rule) for row in rows if (rule := rule_of(row)) is not None]
    return (
        ["", "## Rows of the upgrade", *(f"* {row} {marked_up(rule.title)}" for row, rule in covered)]
        if covered
        else []
    )


def _message(query: str) -> list[Explanation]:
    """Return the explanation of a message without code, or of a symptom."""
    message_pattern = next(
        (candidate for candidate in message_patterns() if candidate.pattern.search(query)), None
    )
    if message_pattern is None:
        return []
    message_codes = [codes()[code] for code in message_pattern.codes]
    parts = (
        [f"# {query}", "", "Recognized by its text: 2.2 has no codes, and start-up messages have none."]
        if len(query) > 20
        else [f"# {query}"]
    )
    for code in message_codes:
        parts += [
            "",
            f"## {code.code} ({code.module})",
            marked_up(_sentence(code.meaning)),
            *([marked_up(_sentence(code.advice))] if code.advice else []),
        ]
    rows = tuple(
        dict.fromkeys([*message_pattern.rows, *(row for code in message_codes for row in code.rows)])
    )
    return [
        Explanation(
            "message",
            query,
            message_codes[0].meaning if message_codes else "",
            "\n".join([*parts, *_row_lines(rows)]) + "\n",
            rows,
        )
    ]


# directives and modules ---------------------------------------------------------------------------
def directive(name: str) -> list[Explanation]:
    """Return the explanation of the directive or section *name* in both versions; [] if neither has it."""
    base_name = name.strip().lstrip("<").rstrip(">").lower()
    entries = [
        (version, row)
        for version in VERSIONS
        for row in catalogue(version).find(base_name) or catalogue(version).find(f"<{base_name}")
    ]
    if not entries:
        return []
    spelled = entries[-1][1].name
    parts = [
        f"# {marked_up(_spelled(entries[-1][1]))}",
        *(
            line
            for version in VERSIONS
            for line in _in_version(version, [row for v, row in entries if v == version])
        ),
    ]
    rows = _rows_naming(spelled.lstrip("<"))
    return [
        Explanation(
            "directive", spelled, entries[-1][1].help, "\n".join([*parts, *_row_lines(rows)]) + "\n", rows
        )
    ]


def _in_version(version: str, rows: list[DirectiveEntry]) -> Iterator[str]:
    yield from ("", f"## httpd {version}")
    if not rows:
        yield f"There is no such directive in {version}: `Invalid command` where it stands."
    for row in rows:
        yield f"* module: {row.source}"
        yield f"* where: {', '.join(contexts(row))}"
        if row.default:
            yield f"* default: {row.default}"
        yield f"* help: {row.help}"


def contexts(row: DirectiveEntry) -> list[str]:
    """Return the contexts of a directive, in the manual's words."""
    names = []
    if row.where & WHERE["RSRC_CONF"]:
        names.append("server config" if "GLOBAL_ONLY" in row.forbidden_in else "server config, virtual host")
    if row.where & (WHERE["ACCESS_CONF"] | WHERE["OR_ALL"]):
        names.append("sections")
    words = {
        "OR_LIMIT": "Limit",
        "OR_OPTIONS": "Options",
        "OR_FILEINFO": "FileInfo",
        "OR_AUTHCFG": "AuthConfig",
        "OR_INDEXES": "Indexes",
    }
    overrides = [word for name, word in words.items() if row.where & WHERE[name]]
    if overrides and "HTACCESS" not in row.forbidden_in:
        names.append(f".htaccess (AllowOverride {'|'.join(overrides)})")
    return names or ["sections"]


def module(name: str) -> list[Explanation]:
    """Return the explanation of a module by its name, identifier or file, in both versions."""
    base = (
        name.strip()
        .lower()
        .rpartition("/")[2]
        .removesuffix(".so")
        .removesuffix(".c")
        .removesuffix("_module")
        .removeprefix("mod_")
    )
    row_of = {version: _module_row(version, base) for version in VERSIONS}
    row = row_of["2.4"] or row_of["2.2"]
    if row is None:
        return []
    parts = [f"# {row.file}"]
    for version, module_row in row_of.items():
        parts += [
            "",
            f"## httpd {version}",
            *(
                _module_lines(version, module_row)
                if module_row is not None
                else [f"There is no such module in {version}."]
            ),
        ]
    rows = _rows_naming(row.file)
    return [
        Explanation("module", row.file, row.identifier, "\n".join([*parts, *_row_lines(rows)]) + "\n", rows)
    ]


def third_party(name: str) -> list[Explanation]:
    """Return the explanation of a third-party module, or of a directive of one, with its successor in 2.4."""
    name = name.strip()
    is_directive = product_of(name) is None
    product = product_of_directive(name) if is_directive else product_of(name)
    if product is None or " " in name:
        return []
    rows = tuple(dict.fromkeys([*_rows_naming(name), "X24"]))
    what = "A directive of a third-party module" if is_directive else "A third-party module"
    body = (
        f"# {name}\n\n{what} ({product.name}): a file that was built for 2.2 "
        f"does not load in 2.4.\n\n## In 2.4\n{product.successor}.\n\n## In Whimbrel\n{_in_whimbrel(product)}"
    )
    text = "\n".join([body, *_row_lines(rows)]) + "\n"
    return [Explanation("module", name, product.successor, text, rows)]


def _in_whimbrel(product: ThirdPartyProduct) -> str:
    """Return lines about effect, directives and what a server does without the module."""
    modules = " ".join(module.identifier for module in product.modules)
    lines = [f"* modules: {modules}", f"* effect: {product.effect}"]
    if product.directives:
        lines.append(f"* directives: {' '.join(product.directives)}")
    if product.handlers:
        lines.append(f"* handlers: {' '.join(product.handlers)}")
    if product.is_built_in:
        lines.append("* built in")
    elif product.is_ignorable:
        short = product.modules[0].identifier.removesuffix("_module")
        lines.append(f"* refused, unless the text has: WhimbrelIgnoreModule {short}")
    else:
        lines.append("* refused: without it, clients could get what it withholds")
    return "\n".join(lines)


def _module_row(version: str, base: str) -> ModuleEntry | None:
    known = (f"mod_{base}", base)
    return next(
        (
            row
            for row in catalogue(version).modules
            if row.file in known or row.identifier == f"{base}_module"
        ),
        None,
    )


def _module_lines(version: str, row: ModuleEntry) -> list[str]:
    entries = catalogue(version).module_rows(row.source)
    names = [marked_up(name) for name in dict.fromkeys(map(_spelled, entries))]
    return [
        f"* LoadModule {row.identifier} modules/{row.file}.so",
        f"* status: {row.kind}",
        f"* directives: {', '.join(names) or 'none'}",
    ]


def _spelled(entry: DirectiveEntry) -> str:
    """Return the name of a directive as documents spell it, that of a section in angle brackets."""
    return f"{entry.name}>" if entry.name.startswith("<") else entry.name


def _rows_naming(word: str) -> tuple[str, ...]:
    """Return the rows whose documents contain *word*."""
    name = word.lower()
    pattern = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")
    return tuple(number for number, prose in _proses() if name in prose and pattern.search(prose))


@cache
def _proses() -> tuple[tuple[str, str], ...]:
    """Return the number of each rule with the prose of its document in lower case, read once."""
    return tuple((rule.number, _prose(document(rule)).lower()) for rule in all_rules())


def _prose(text: str) -> str:
    """Return a document without its examples of unaffected text, which name other subjects."""
    lines = []
    is_skipped = False
    for line in text.split("\n"):
        if line.startswith("## "):
            is_skipped = line.startswith("## Not touched")
        if not is_skipped:
            lines.append(line)
    return "\n".join(lines)


def _names() -> Iterator[str]:
    yield from (rule.number for rule in all_rules())
    yield from codes()
    for version in VERSIONS:
        yield from (row.name.lstrip("<") for row in catalogue(version))
        yield from (row.file for row in catalogue(version).modules)

"""C35 and C49: `#if expr` has another language; SSILegacyExprParser keeps the old one.

Documents: documents/C35-ssi-expressions.md, documents/C49-ssi-error-documents.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.upgrade.estate import Estate, Role, Statement
from whimbrel.upgrade.htaccess import takes
from whimbrel.upgrade.model import FileEdit, Finding, Risk, Rule, Safety
from whimbrel.upgrade.rules.helping import at_server_level, below, in_24, lacks, same_place, scope_of, server_of

LEGACY: Final = "SSILegacyExprParser On"
EVERYWHERE: Final = ("<Directory />", f"    {LEGACY}", "</Directory>")
SOURCES: Final = ("addoutputfilter", "setoutputfilter", "addoutputfilterbytype", "addhandler", "sethandler", "addtype", "xbithack", "filterprovider")


def parses(line: Statement) -> bool:
    """Whether *line* sends files through mod_include."""
    words = [word.lower() for word in line.words()]
    if not words:
        return False
    if line.name == "xbithack":
        return words[0] in ("on", "full")
    if line.name in ("addhandler", "sethandler", "addtype"):
        return words[0] in ("server-parsed", "text/x-server-parsed-html")
    return "includes" in words[line.name == "filterprovider":][0].split(";") if len(words) > (line.name == "filterprovider") else False


def check(estate: Estate) -> Iterator[Finding]:
    """One line for each place that has SSI; where the whole server has it, one for all."""
    return (finding for finding in _findings(estate) if finding.rule == "C35")


def check_errors(estate: Estate) -> Iterator[Finding]:
    """The same for the folders of error documents."""
    return (finding for finding in _findings(estate) if finding.rule == "C49")


def _findings(estate: Estate) -> Iterator[Finding]:
    sources = [line for line in estate.named(*SOURCES) if parses(line)]
    main = [line for line in sources if at_server_level(line) and server_of(line) is None]
    if main:
        if not _everywhere(estate, None):
            yield _found("C35", main[0], below(estate, main[0], EVERYWHERE), Safety.SAFE)
        return
    errors = set(_error_folders(estate))
    done: list[Statement] = []
    for line in sources:
        if any(same_place(line, other) for other in done):
            continue
        done.append(line)
        yield from _one(estate, line, errors)


def _one(estate: Estate, line: Statement, errors: set[str]) -> Iterator[Finding]:
    if line.file.role is Role.FRAGMENT and scope_of(line) is None:
        yield _found("C35", line, (), Safety.MANUAL)
    elif at_server_level(line):
        if not _everywhere(estate, server_of(line)):
            yield _found("C35", line, below(estate, line, EVERYWHERE), Safety.SAFE)
    elif not any(same_place(line, other) for other in in_24(estate, "ssilegacyexprparser")):
        scope = scope_of(line)
        folder = scope.args.strip().strip('"').rstrip("/") if scope is not None and scope.name == "<directory" else ""
        rule = "C49" if folder in errors else "C35"
        unsure = rule == "C49" or line.file.role is Role.HTACCESS
        if line.file.role is Role.HTACCESS and lacks(estate, "include_module"):
            return  # nothing parses there
        if takes(estate, line, "limit"):
            yield _found(rule, line, below(estate, line, [LEGACY]), Safety.REVIEW if unsure else Safety.SAFE)
        else:
            yield _found(rule, line, (), Safety.MANUAL)


def _found(rule: str, line: Statement, edits: tuple[FileEdit, ...], safety: Safety) -> Finding:
    remedy = f"{LEGACY}, or rewrite the conditions"
    if rule == "C49":
        remedy = f"{LEGACY} for error documents that came with 2.2; take the line away for those of 2.4"
    elif line.file.role is Role.HTACCESS:
        remedy = f"{LEGACY}, which needs AllowOverride Limit here, or rewrite the conditions"
    return Finding(rule, line.place, "SSI conditions (#if expr) are read by another parser in 2.4", remedy, Risk.CHANGES, safety, edits)


def _everywhere(estate: Estate, server: Statement | None) -> bool:
    """Whether the whole *server*, or the main one, has the old parser already."""
    for line in in_24(estate, "ssilegacyexprparser"):
        scope = scope_of(line)
        if scope is not None and scope.name == "<directory" and scope.args.strip().strip('"') == "/" and server_of(line) in (server, None):
            return True
    return False


def _error_folders(estate: Estate) -> Iterator[str]:
    """The folders that the configuration serves its error documents from."""
    urls = [words[1] for line in estate.named("errordocument") if len(words := line.words()) > 1 and words[1].startswith("/")]
    for line in estate.named("alias"):
        words = line.words()
        if len(words) == 2 and any(url.startswith(words[0].rstrip("/") + "/") for url in urls):
            yield words[1].rstrip("/")


RULE = Rule("C35", "ssi-expressions", "SSI conditions have another language", check)
ERRORS = Rule("C49", "ssi-error-documents", "Error documents in several languages need the old SSI conditions", check_errors)

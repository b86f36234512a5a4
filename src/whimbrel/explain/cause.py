"""The cause of an answer: the line that decided it, found in the steps of its explanation."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from whimbrel.base.lazy_dataclasses import dataclass, replace
from whimbrel.config.origins import Origin
from whimbrel.engine.explain.deciding_rules import NO_USER, deciding_rules, is_negated, rule_trees
from whimbrel.engine.explain.decisions import DECLINES, DENIED, GRANTED, NOT_EVALUATED, OTHER_METHODS
from whimbrel.explain.defaults import deciding_defaults
from whimbrel.explain.requirements_22 import WORDS
from whimbrel.explain.rewriting import (
    file_of,
    leading_lines,
    looping_lines,
    negotiations,
)
from whimbrel.explain.step import REASON, ExplanationStep, RequestExplanation, is_reason, line_as_dict
from whimbrel.http.semantics.status import reason

_STATUS: Final = re.compile(r"(?:status )?(\d{3})\b")
_USER: Final = re.compile(r"\buser (.+)")
_HANDLER: Final = re.compile(r"(?:^|, )handler ([^,]*)")
_RECURSION: Final = "internal redirects due to probable configuration error"
"""What httpd logs about a request that was redirected too often."""
_LOG_CODE: Final = re.compile(r"AH\d{5}: ")
_DENIED: Final = (
    "client denied by server configuration",
    "reason: SSL connection required",
    "SSL requirement expression",
    "unable to get the remote host name",
)
"""What is logged about the address, its name or the connection of a client whom a password may still admit
(X13)."""
_STRICT: Final = "strictrequire"
"""The word of SSLOptions by which mod_ssl's refusal holds beside Satisfy Any."""
_UNAUTHORIZED: Final = "authorization failure"
"""What 2.4 logs about an authenticated user whom no Require line admits."""
_FOUND: Final = "user found"
"""The result of a provider that Digest asks for the hash of a user."""
_MISMATCH: Final = "password mismatch"
"""What is logged about a hash that is not that of the user."""
_HOLDING: Final = {
    "all": "every client",
    "env": "a variable that is set",
    "expr": "its expression",
    "forward-dns": "the address of the client",
    "host": "the name of the client",
    "ip": "the address of the client",
    "local": "a client of this machine",
    "method": "the method {method}",
}
"""What lines hold for, by the words of Require; those of other words hold for a user."""
MAX_DECIDING: Final = 3
"""Lines of one cause."""
_METHODS: Final = {
    "OPTIONS": "the methods are listed in the field Allow, no file is sent",
    "TRACE": "the request itself is sent back: TraceEnable is on, which is the default",
}
"""What methods without a file get."""
_OF_REQUESTS: Final = ("env", "expr", "method")
"""Words of Require that are no matter of the client's name or address."""


@dataclass(frozen=True, slots=True)
class AnswerCause:
    """Why a request has its answer.

    Attributes:
        lines: the lines that decided it, the first one first; () if a default or a file did.
        sentence: what they did with this request, "" if the lines say it.
        granting: the lines that let the client in, if the answer is none of access control.
    """

    lines: tuple[Origin, ...] = ()
    sentence: str = ""
    granting: tuple[Origin, ...] = ()

    @property
    def all_lines(self) -> tuple[Origin, ...]:
        """The lines that decided, and those that let the client in."""
        return tuple(dict.fromkeys((*self.lines, *self.granting)))

    def as_dict(self) -> dict[str, object]:
        """Return the cause for JSON."""
        return {"lines": [line_as_dict(line) for line in self.all_lines], "sentence": self.sentence}


def cause_of(explanation: RequestExplanation) -> AnswerCause:
    """Return the cause of the status of *explanation*, and that redirects follow it without end."""
    cause = _cause_of(explanation)
    paths = [line.place.path for line in cause.all_lines]
    defaults = () if explanation.errors else deciding_defaults(deciding_block(explanation), paths)
    sentences = filter(None, (cause.sentence, *defaults, explanation.circle))
    return replace(cause, sentence="; ".join(sentences))


def _cause_of(explanation: RequestExplanation) -> AnswerCause:
    if explanation.errors:
        return AnswerCause(sentence=" ".join(explanation.errors[0].split()))
    block, step = _decision(explanation)
    if step is not None:
        cause = _cause_of_step(step, block, explanation)
        return _with_access(cause, step, block) if explanation.status == 404 else cause
    if explanation.status is None:
        return _cause_of_unknown(block, explanation)
    if explanation.status < 400:
        replaced = _replaced_error(explanation) if explanation.location else None
        return replaced or _cause_of_success(block, explanation)
    blocks = request_blocks(explanation)
    looping = looping_lines(blocks) if _RECURSION in _logged(explanation) else ()
    if looping:
        return AnswerCause(looping, f"{_circle(len(looping))} again and again: {_logged(explanation)}")
    refusal = _last(explanation.all(), REASON)
    if refusal is not None:
        return AnswerCause(refusal.lines, refusal.what)
    return AnswerCause((), _logged(explanation) or "no line of the configuration decides it")


def _with_access(cause: AnswerCause, step: ExplanationStep, block: Iterable[ExplanationStep]) -> AnswerCause:
    """Return *cause* with the lines that let the client in before *step* found no file."""
    access = None if step.kind == "access" or step.what == "mod_dir" else _last(block, "access")
    is_open = access is None or access.result != GRANTED
    granting = () if is_open or access is None else admitting_lines(access)
    return replace(cause, granting=tuple(line for line in granting if line not in cause.lines))


def _replaced_error(explanation: RequestExplanation) -> AnswerCause | None:
    """Return the cause of a redirect that an ErrorDocument line has in the place of an error, or None."""
    response = _last(explanation.steps, "response")
    if response is None or not response.lines:
        return None
    words = response.lines[0].text.split()
    if words[0].lower() != "errordocument" or len(words) < 2 or not words[1].isdecimal():
        return None
    status = int(words[1])
    inner = _cause_of(replace(explanation, status=status, location=""))
    sentence = f"the client is sent there in the place of {status} {reason(status)}"
    lines = (response.lines[0], *(line for line in inner.lines if line != response.lines[0]))
    return AnswerCause(lines, "; ".join(filter(None, (sentence, inner.sentence))))


def _circle(count: int) -> str:
    """Return how *count* rules feed each other."""
    if count == 1:
        return "applied to its own result"
    return (
        "both applied to the result of the other" if count == 2 else "each applied to the result of another"
    )


def deciding_block(explanation: RequestExplanation) -> tuple[ExplanationStep, ...]:
    """Return the steps of the request, or of the internal redirect, that decided the status."""
    return _decision(explanation)[0]


def _decision(explanation: RequestExplanation) -> tuple[tuple[ExplanationStep, ...], ExplanationStep | None]:
    """Return the first steps in which one gave the status, with this one; else the last ones."""
    blocks = request_blocks(explanation)
    if explanation.status is not None:
        for block in blocks:
            for step in block:
                if _decides(step, explanation.status):
                    return block, step
    return blocks[-1], None


def _cause_of_unknown(block: Iterable[ExplanationStep], explanation: RequestExplanation) -> AnswerCause:
    """Return the lines that chose a handler which was not run: those that set it, and that let it run; else
    the last ones of what ran before."""
    steps = tuple(block)
    handler = _last(steps, "handler")
    access = _last(steps, "access")
    lines = choosing_lines(steps, explanation)
    lines += handler_lines(handler) if handler is not None else ()
    others = [step.lines for step in steps if step.kind in ("fix-ups", "handler") and step.lines]
    if not lines and others:
        lines = others[-1]
    lines = (*_rewriting(explanation), *lines)
    granting = admitting_lines(access) if access is not None else ()
    response = _last(explanation.steps, "response")
    sentence = response.detail if response is not None else ""
    return AnswerCause(tuple(dict.fromkeys(lines))[:MAX_DECIDING], sentence, granting)


def choosing_lines(block: Iterable[ExplanationStep], explanation: RequestExplanation) -> tuple[Origin, ...]:
    """Return the line that chose the handler, () if none did; that of a directory needs none.

    The handler of an index file is chosen in the sub-request of mod_dir.
    """
    kinds = ("mapping", "type", "fix-ups")
    chosen = [step for step in block if step.kind in kinds and _HANDLER.search(step.result)]
    if chosen and chosen[-1].what == "mod_dir":
        last = _last(explanation.steps, "sub-request")
        inner = last.children if last is not None else ()
        chosen = [step for step in inner if step.kind in kinds and _HANDLER.search(step.result)]
    chosen = [step for step in chosen if step.what != "mod_dir"]
    if not chosen:
        return ()
    found = _HANDLER.search(chosen[-1].result)
    name = found[1].lower() if found is not None else ""
    lines = chosen[-1].lines  # a type of the same extension may stand before the handler
    return (
        tuple(line for line in lines if name in line.text.lower().replace('"', "").split())[:1] or lines[:1]
    )


def request_blocks(explanation: RequestExplanation) -> list[tuple[ExplanationStep, ...]]:
    """Return the steps of the request and those of each internal redirect, in their order."""
    redirects = [step.children for step in explanation.steps if step.kind == "redirect"]
    inner = ("redirect", "sub-request", "response")
    return [tuple(step for step in explanation.steps if step.kind not in inner), *redirects]


def _decides(step: ExplanationStep, status: int) -> bool:
    if step.result == "refused":
        return status >= 400
    found = _STATUS.match(step.detail if step.kind == "access" else step.result)
    return found is not None and int(found[1]) == status


def _cause_of_step(
    step: ExplanationStep, block: Iterable[ExplanationStep], explanation: RequestExplanation
) -> AnswerCause:
    """Return the cause of a status that *step* gave."""
    logged = _logged(explanation)
    if step.kind == "access":
        return _cause_of_denial(step, explanation.status, logged, _method(explanation))
    index = _refused_index(explanation) if step.what == "mod_dir" else None
    inner = _last(index.children, "access") if index is not None else None
    if index is not None and inner is not None:
        denial = _cause_of_denial(inner, explanation.status, logged, index.what.partition(" ")[0])
        lookup = f"mod_dir looked for the index file by {index.what}"
        return replace(denial, sentence="; ".join(filter(None, (denial.sentence, lookup))))
    if step.what == "core" and step.kind == "mapping" and explanation.status == 400:
        return AnswerCause((), _without_code(step.detail) or logged)  # of the path, whatever it is mapped to
    if step.lines and step.kind in ("mapping", "fix-ups"):
        return AnswerCause(step.lines[:MAX_DECIDING], _without_code(step.detail))
    if step.result == "refused":
        return AnswerCause(step.lines, step.detail)
    file = _last(block, "file")
    if file is not None and file.result == "does not exist" and explanation.status == 404:
        mapped = [mapping for mapping in block if mapping.kind == "mapping" and mapping.lines]
        sentence = f"{file.what}{_path_info(file)} does not exist"
        lines = mapped[-1].lines[:1] if mapped else ()
        return AnswerCause(_rewriting(explanation) or lines, sentence)
    detail = _without_code(step.detail) or logged
    refusal = _last(explanation.all(), REASON)
    if refusal is not None and not detail:
        return AnswerCause(refusal.lines or handler_lines(step), refusal.what)
    if not detail and step.what == "mod_dir":
        detail = "the path of a directory gets a slash at its end"
    lines = handler_lines(step) or (choosing_lines(block, explanation) if step.kind == "handler" else ())
    return AnswerCause(lines, detail or f"{step.what} answers with it")


def _refused_index(explanation: RequestExplanation) -> ExplanationStep | None:
    """Return the last sub-request for an index file that was refused with the status of the directory, None
    if none was: mod_dir goes on to the next file, and answers with that status if there is none.
    """
    for step in reversed(explanation.steps):
        access = _last(step.children, "access") if step.kind == "sub-request" else None
        if access is not None and _decides(access, explanation.status or 0):
            return step
    return None


def handler_lines(step: ExplanationStep) -> tuple[Origin, ...]:
    """Return the last line that set something for a handler, which overrides the lines before it; settings of
    PHP run no script.
    """
    others = ("errordocument", "php_")
    return tuple(line for line in step.lines if not line.text.lower().startswith(others))[-1:]


def _path_info(file: ExplanationStep) -> str:
    return file.detail.removeprefix("path info ").rstrip("/")


def _cause_of_denial(access: ExplanationStep, status: int | None, logged: str, method: str) -> AnswerCause:
    """Return the cause of a 401 or another refusal of the access phases."""
    if status == 500 and (failed := _cause_of_failed_check(access, logged)) is not None:
        return failed
    is_challenge = status == 401
    leaves = _concerned_leaves(access)
    tree = next(reversed(list(rule_trees(access.children))), None)
    rules = list(deciding_rules(tree)) if tree is not None and tree.result != GRANTED else []
    user = _USER.search(access.detail)
    is_unlogged = is_challenge and not logged
    if user is not None and (is_unlogged or _UNAUTHORIZED in logged):
        required = rules or _required(leaves)
        return AnswerCause(_lines(required or [access]), _refusal_of(user[1], rules, tree, method))
    if (
        user is not None and status != 500 and _is_unauthorized(access)
    ):  # 2.2, whose modules log each its own words
        return AnswerCause(_lines(_required(leaves) or [access]), _without_code(logged))
    if is_challenge:
        return _cause_of_challenge(access, leaves, rules, logged)
    forbidden = [step for step in access.children if _forbids_users(step, status)]
    if forbidden:
        return AnswerCause(_strict_lines(access, forbidden[-1]), _without_code(logged))
    passed = {id(leaf) for step in access.children if _is_passed(step) for leaf in step.all()}
    leaves = [step for step in leaves if id(step) not in passed]
    refused = [step for step in leaves if step.what.startswith("Deny") and step.result == "matches"]
    refused = refused or rules or [step for step in leaves if step.result == "denied"]
    if refused:
        return AnswerCause(_lines(refused), _reason(refused, logged, method))
    order = [step for step in leaves if step.what.startswith("Order")]
    if order and status == 403:
        return AnswerCause(_lines(order), "no Allow line has this client")
    causes = [step for step in access.all() if step.what.startswith("provider ") and step.lines]
    if not causes and status == 500:  # a user is required, and no module can find one
        causes = [step for step in leaves if step.what.startswith("Require")]
    return AnswerCause(_lines(causes or [access]), _without_code(logged))


def _is_unauthorized(access: ExplanationStep) -> bool:
    """Return True if a module of 2.2 refused an authenticated user."""
    return any(step.what.endswith("(auth_checker)") and step.result == DENIED for step in access.children)


def _forbids_users(step: ExplanationStep, status: int | None) -> bool:
    """Return True for a module that gave *status* 403 to a user whom Satisfy Any asked for: a refusal by the
    address or the connection came before, and did not end the request."""
    is_of_users = step.what.endswith("(check_user_id)") and bool(step.lines)
    return is_of_users and status == 403 and step.result == DENIED and step.detail == str(status)


def _strict_lines(access: ExplanationStep, step: ExplanationStep) -> tuple[Origin, ...]:
    """Return the lines of StrictRequire of *step*, and those by which its module refused the client before;
    all lines of *step* where it did not.
    """
    module = step.what.partition(" ")[0]
    refused = [
        one
        for one in access.children
        if one.what == f"{module} (access_checker)" and one.result == DENIED and one.lines
    ]
    if not refused:
        return _lines([step])
    strict = [line for line in step.lines if _STRICT in line.text.lower()]
    return tuple(dict.fromkeys((*strict, *_lines(refused))))[:MAX_DECIDING]


def _is_passed(step: ExplanationStep) -> bool:
    """Return True for a module that let the client in by its address: its Deny lines refuse nothing, and
    another module of this phase gave the status."""
    return "(access_checker)" in step.what and step.result in (GRANTED, DECLINES)


def _cause_of_failed_check(access: ExplanationStep, logged: str) -> AnswerCause | None:
    """Return the cause of a 500 that the authentication of a user gave, None if another step gave it.

    The lines are those by which modules left the user to others, else those of the provider that failed, else
    AuthType. No Require line has a part in it: they are looked at for authenticated users.
    """
    checks = [step for step in access.children if step.what.endswith("(check_user_id)")]
    if not any(step.result == DENIED for step in checks):
        return None
    passing = [step for step in checks if step.result == DECLINES and step.children]
    left = [line for step in passing for line in step.lines if _name_of(line).endswith("authoritative")]
    types = [line for step in (*checks, access) for line in step.lines if _name_of(line) == "authtype"]
    failed = [step for check in checks for step in check.children if step.what.startswith("provider ")]
    providers = [line for step in failed for line in step.lines]
    lines = (*left, *types) if left else (providers or types)
    sentence = f"no provider has this user, and {left[-1].text} leaves the answer to others" if left else ""
    reasons = filter(None, (sentence, _without_code(logged)))
    return AnswerCause(tuple(dict.fromkeys(lines))[:MAX_DECIDING], "; ".join(reasons))


def _name_of(line: Origin) -> str:
    """Return the name of the directive of *line* in lower case."""
    return line.text.partition(" ")[0].lower()


def _concerned_leaves(access: ExplanationStep) -> list[ExplanationStep]:
    """Return the innermost steps of *access* with a line, without those about other methods than this one."""
    leaves = (step for step in access.all() if step.lines and not step.children and step is not access)
    return [step for step in leaves if OTHER_METHODS not in (step.result, step.detail)]


def _cause_of_challenge(
    access: ExplanationStep, leaves: list[ExplanationStep], rules: list[ExplanationStep], logged: str
) -> AnswerCause:
    """Return the cause of a 401 to a client without a user, or with credentials that are not right."""
    required = _required(leaves)
    chosen = [step for step in rules if step.result == NO_USER]
    chosen = chosen or [step for step in required if _needs_user(step)] or required
    sentence = "" if _is_denied(logged) else _without_code(logged)
    providers = [step for step in access.all() if step.what.startswith("provider ")]
    if not any(step.result == GRANTED for step in providers):
        chosen = [step for step in providers if step.lines] or chosen
    if any(step.result == _FOUND for step in providers) and _MISMATCH not in logged:
        types = tuple(line for line in access.lines if _name_of(line) == "authtype")
        if types:  # what the client sent is no answer to the challenge, whatever the password is
            return AnswerCause(types, sentence)
    return AnswerCause(_lines(chosen or [access]), sentence or "no credentials were sent")


def _refusal_of(user: str, rules: list[ExplanationStep], tree: ExplanationStep | None, method: str) -> str:
    """Return why *rules*, on which the result of *tree* rests, refuse an authenticated user."""
    excluded = _exclusion(rules, method, user)
    others = [rule for rule in rules if not _is_excluding(rule)]
    if excluded and not others:
        return f"{user} is authenticated; {excluded}"
    joint = _joint_of(tree) if tree is not None else ""
    if not joint:
        sentence = f"no line admits {user}"
    else:
        these = ("the other line", "the other lines") if excluded else ("this line", "these lines")
        lines = f"{these[0]} does" if len(others) == 1 else f"{these[1]} do"
        sentence = f"{lines} not admit {user}: {joint} asks for all its parts"
    start = f"{user} is authenticated"
    return f"{start}; {excluded}; {sentence}" if excluded else f"{start}, and {sentence}"


def _exclusion(rules: list[ExplanationStep], method: str, user: str = "") -> str:
    """Return what the negated lines among *rules* hold for, "" without one; others have no part in it."""
    excluding = [rule for rule in rules if rule.what.startswith("Require") and _is_excluding(rule)]
    if not excluding:
        return ""
    holding = dict.fromkeys(
        _HOLDING.get(_word_of(rule), f"the user {user}" if user else "this client").format(method=method)
        for rule in excluding
    )
    lines = "the line" if len(excluding) == 1 else "the lines"
    if len(excluding) < len(rules):
        lines = ", ".join(f"`{rule.what}`" for rule in excluding)
    verbs = ("holds", "is") if len(excluding) == 1 else ("hold", "are")
    return (
        f"{lines} {verbs[0]} for {' and '.join(holding)}, and {verbs[1]} negated "
        "(Require not, or in <RequireNone>)"
    )


def _is_excluding(rule: ExplanationStep) -> bool:
    """Return True if *rule* refuses because what it names holds."""
    return is_negated(rule) or rule.result == GRANTED


def _joint_of(tree: ExplanationStep) -> str:
    """Return the container that refuses although a part of it grants, "" if no such one decides."""
    if any(member.result == GRANTED for member in tree.children):
        return "AuthMerging And" if tree.what.startswith("AuthMerging") else tree.what
    members = [member for member in tree.children if member.result == tree.result]
    return next(filter(None, map(_joint_of, members)), "")


def _required(leaves: Iterable[ExplanationStep]) -> list[ExplanationStep]:
    """Return the Require lines among *leaves*, without those that a module of 2.2 never looks at."""
    required = [step for step in leaves if step.what.startswith("Require")]
    return [step for step in required if step.result != NOT_EVALUATED] or required


def _needs_user(step: ExplanationStep) -> bool:
    words = step.what.split()
    return len(words) > 1 and words[1].lower() in ("user", "valid-user", "group", "dbm-group", "file-owner")


def _reason(refused: list[ExplanationStep], logged: str, method: str) -> str:
    """Return what the first of the lines *refused*, or the negated ones of them, did with the client."""
    step = refused[0]
    if step.result == "general error":
        return _without_code(logged)
    if step.detail and not step.detail.isdecimal():
        return step.detail
    excluded = _exclusion(refused, method)
    if step.what.startswith("Require") and _is_excluding(step):
        return excluded
    if "(access_checker" in step.what:
        return _without_code(logged)
    if not step.what.startswith("Deny"):
        what = f"it does not admit this {'request' if _word_of(step) in _OF_REQUESTS else 'client'}"
        return "; ".join(filter(None, (what, excluded)))
    return (
        "it names every client"
        if step.what.lower().split()[1:] == ["from", "all"]
        else "it names this client"
    )


def _rewriting(explanation: RequestExplanation) -> tuple[Origin, ...]:
    """Return the last rules, Action and FallbackResource lines that led to the request that decided, each
    once.
    """
    blocks = request_blocks(explanation)
    led = blocks[: blocks.index(_decision(explanation)[0]) + 1]
    return tuple(dict.fromkeys(leading_lines(led)))[-MAX_DECIDING:]


def _cause_of_success(block: Iterable[ExplanationStep], explanation: RequestExplanation) -> AnswerCause:
    """Return the cause of an answer that nothing refused: what rewrote the path, who admitted the client, and
    what is sent."""
    steps = tuple(block)
    lines = _rewriting(explanation)
    access = _last(steps, "access")
    handler = _last(steps, "handler")
    file = _last(steps, "file")
    index = next((file_of(step) for step in reversed(steps) if step.what == "mod_dir"), "")
    for negotiation, variant in negotiations(steps):
        lines = (*lines, *negotiation.lines[:1])
        index = variant
    for inner in explanation.steps if index else ():
        found = negotiations(inner.children) if inner.kind == "sub-request" else ()
        lines = (*lines, *(line for step, variant in found if variant == index for line in step.lines[:1]))
    if handler is not None and handler.what != "core":
        lines = (*lines, *(choosing_lines(steps, explanation) or handler_lines(handler)))
        sentence = f"{handler.what} answers"
    elif index or (file is not None and file.what):
        sentence = _sent(index or (file.what if file is not None else ""), explanation)
    else:
        sentence = _METHODS.get(_method(explanation), "")
    granting = admitting_lines(access) if access is not None else ()
    return AnswerCause(tuple(dict.fromkeys(lines)), sentence, granting)


def _method(explanation: RequestExplanation) -> str:
    return explanation.request.partition(" ")[0]


def _sent(path: str, explanation: RequestExplanation) -> str:
    """Return what a client gets of the file *path*."""
    method = _method(explanation)
    if explanation.status == 304:
        return f"the client's copy of {path} is still valid: no body is sent"
    if explanation.status == 206:
        return f"the part of {path} is sent that Range asks for"
    if method == "HEAD":
        return f"the head of the answer with {path} is sent"
    return _METHODS.get(method) or f"{path} is sent"


def admitting_lines(access: ExplanationStep) -> tuple[Origin, ...]:
    """Return the lines that admitted the client; under 2.2 the Require lines of the module that did first."""
    leaves = _concerned_leaves(access)
    trees = list(rule_trees(access.children))
    idle = {id(step) for tree in trees for step in tree.all()}
    idle -= {id(step) for tree in trees if tree.result == GRANTED for step in deciding_rules(tree)}
    admitted = [
        step
        for step in leaves
        if (step.result == GRANTED and id(step) not in idle and not step.what.startswith("provider "))
        or (step.what.startswith("Allow") and step.result == "matches")
    ]
    required = [step for step in leaves if step.what.startswith("Require") and step.result == "applies"]
    checks = [
        step.what for step in access.all() if "(auth_checker)" in step.what and step.result == "granted"
    ]
    for module in checks:
        words = WORDS.get(module.partition(" ")[0], frozenset())
        admitted = [step for step in required if _word_of(step) in words] + admitted
    return _lines(admitted or [step for step in leaves if step.what.startswith("Order")])


def lines_of_other_methods(access: ExplanationStep) -> tuple[Origin, ...]:
    """Return the Require lines of containers that have none for the method, by which 2.4 admits it."""
    containers = (step for step in access.all() if step.result == GRANTED and step.detail == OTHER_METHODS)
    return _lines(leaf for step in containers for leaf in step.all() if leaf.lines and not leaf.children)


def _word_of(step: ExplanationStep) -> str:
    """Return the kind of a Require line in lower case."""
    words = [word for word in step.what.lower().split() if word != "not"]
    return (words + ["", ""])[1]


def _lines(steps: Iterable[ExplanationStep]) -> tuple[Origin, ...]:
    """Return the lines of *steps*, each once."""
    return tuple(dict.fromkeys(line for step in steps for line in step.lines))[:MAX_DECIDING]


def _last(steps: Iterable[ExplanationStep], kind: str) -> ExplanationStep | None:
    found = None
    for step in steps:
        if step.kind == kind:
            found = step
    return found


def _logged(explanation: RequestExplanation) -> str:
    """Return the most severe message of the error log that may be a reason, "" without one.

    With Satisfy Any, the refused address or connection is logged before a user is asked for: a 401 has the
    later message.
    """
    lines = [line.what for line in explanation.log_lines() if is_reason(line.detail)]
    if explanation.status == 401:
        lines = [line for line in lines if not _is_denied(line)] or lines
    return lines[0].strip() if lines else ""


def _is_denied(logged: str) -> bool:
    """Return True for a message about the address or the connection of a client."""
    return any(part in logged for part in _DENIED)


def _without_code(text: str) -> str:
    return _LOG_CODE.sub("", text).strip()

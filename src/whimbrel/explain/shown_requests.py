"""The request that shows a person a difference of a comparison: `explain` is sent before it is named."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from whimbrel.base.counts import and_more
from whimbrel.explain.changes import changed_steps
from whimbrel.explain.explanation import explain_probe
from whimbrel.explain.request_description import BadRequest, RequestDescription, probe_of
from whimbrel.explain.response_differences import response_differences
from whimbrel.explain.text import have_equal_answers
from whimbrel.verify.digest_user import OLD_DIGEST
from whimbrel.verify.probe import WRONG_PASSWORD
from whimbrel.verify.request_words import WITHOUT_QOP, lacking, request_words

if TYPE_CHECKING:
    from whimbrel.verify.probe import Probe
    from whimbrel.verify.side import Side
    from whimbrel.verify.verification import DifferenceGroup, Example, VerifyResult

MAX_SHOWN: Final = 8
"""Differences to review for which a command is looked for: one is named."""
MAX_PARTS: Final = 4
"""Parts of an answer that a sentence names."""
HTTPD: Final = "httpd"
"""The kind of differences from a real server, which `explain` does not ask."""


def note_shown_requests(result: VerifyResult, sides: tuple[Side, Side]) -> None:
    """Give the first differences to review the words by which `explain` shows them, or why it cannot."""
    for group in result.causes_to_review[:MAX_SHOWN]:
        group.words, group.unshown = _shown(group, sides)
        if group.words:
            return


def _shown(group: DifferenceGroup, sides: tuple[Side, Side]) -> tuple[tuple[str, ...], str]:
    if group.kind == HTTPD:
        return (), "explain does not ask the real server"
    reasons: dict[str, None] = {}
    for example in sorted(group.examples, key=lambda one: not one.opens):
        missing = lacking(example.probe)
        if missing:
            reasons[f"explain has no option for {missing}"] = None
        elif _is_shown(example, sides):
            return request_words(example.probe), ""
        elif example.probe.user is not None and example.probe.user.is_assumed:
            reasons[f"no file of the configuration has {example.probe.user}"] = None
        else:
            names = example.difference.names
            parts = ", ".join(names[:MAX_PARTS]) + and_more(len(names) - len(names[:MAX_PARTS]))
            reasons[f"it lies in {parts}, which explain does not compare"] = None
    return (), next(iter(reasons), "it has no request")


def _is_shown(example: Example, sides: tuple[Side, Side]) -> bool:
    """Return True if `explain` answers the words of *example* with its statuses, and with a difference."""
    try:
        sent = _probe_of_words(example.probe, sides[1])  # as explain --diff does, both sides get this request
    except BadRequest:
        return False
    old, new = (explain_probe(side, sent) for side in sides)
    if (old.status, new.status) not in ((example.old.status, example.new.status), (None, None)):
        return False
    parts = response_differences(*sides, sent)
    return bool(parts) or not have_equal_answers(old, new, list(changed_steps(old, new)))


def _probe_of_words(probe: Probe, side: Side) -> Probe:
    """Return the request that `explain` makes of the words of *probe*. Raises BadRequest."""
    user = probe.user
    named = "" if user is None else user.name
    if user is not None and not user.is_password_valid:
        named = f"{named}:{WRONG_PASSWORD}"
    described = RequestDescription(
        probe.url,
        probe.other_host,
        probe.client,
        "" if probe.address == "127.0.0.1" else probe.address,
        named,
        probe.method,
        probe.fields,
        client_host=probe.client_host,
        auth=WITHOUT_QOP if user is not None and user.scheme == OLD_DIGEST else "",
    )
    return probe_of(described, side.configuration, has_file_users=True)

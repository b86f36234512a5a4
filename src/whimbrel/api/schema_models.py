"""The JSON documents of the commands as pydantic models; `whimbrel.api.schemas` has their JSON schemas.

Only tests import this module: `python -m tools.schemas` writes the schemas. A document gets new keys within
its version; a key that goes or changes its meaning needs the next one.
"""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

Risk = Literal["breaks start-up", "opens access", "closes access", "changes answers", "cosmetic"]


class Document(BaseModel):
    """An object; keys that no model has are errors in tests, and allowed by the schemas."""

    model_config = ConfigDict(extra="forbid", strict=True)


class UnknownItem(Document):
    """A fact that is not known here."""

    kind: str
    file: str | None
    line: int | None
    subject: str
    consequence: str
    advice: str
    matters: bool = Field(description="the result may depend on it")


class Knowledge(Document):
    """What was read, and what is not known."""

    complete: bool = Field(description="nothing unknown could have changed the result")
    files_read: list[str]
    unknown: list[UnknownItem]


class NumberedLine(Document):
    """A line of a file, from 1."""

    line: int
    text: str


class FindingDocument(Document):
    """One change of the upgrade from 2.2 to 2.4."""

    rule: str = Field(description="number of the rule, such as C17")
    file: str
    line: int = Field(description="from 1; 0 for the whole file")
    included_from: str | None
    message: str
    advice: str
    risk: Risk
    effect: str = Field(description="the risk in words: 500 for each request below a .htaccess file")
    needs_review: bool
    evidence: str
    old: list[NumberedLine]
    new: list[str]
    decision: str


class CheckFinding(FindingDocument):
    """A finding of `whimbrel check`."""

    note: bool = Field(description="there is nothing to do")
    fixable: bool = Field(description="upgrade has an edit for it")
    text: str = Field(description="the source line")
    lone_file: bool = Field(description="no Include of the server reads its file: it is not counted")


class UpgradeFinding(FindingDocument):
    """A finding of `whimbrel upgrade`."""

    safety: Literal["safe", "review", "manual"]
    applied: bool


class ToDecide(Document):
    """A question to a person about equal findings of a rule."""

    rule: str
    places: list[str] = Field(description="file:line of each finding, in the order of the text")
    question: str = Field(description="of a line with which 2.4 does not start, what is wrong with it")
    answers: list[str] = Field(description="what each answer leads to, with the answer in front")


class FindingNumbers(Document):
    """The findings about files that the server reads: the next four numbers add up to the first."""

    findings: int
    fixed: int = Field(description="fixed by upgrade, with nothing to decide")
    to_decide: int = Field(description="findings that need a review or a decision")
    unread: int = Field(description="text that could not be read")
    waiting: int = Field(description="findings whose change waits for the correction of another line")
    notes: int = Field(description="entries with nothing to do; no findings")
    places_to_decide: int = Field(description="places of the findings to decide about")


class CheckDocument(Document):
    """whimbrel check --format json"""

    input: list[str] = Field(description="what the input was taken for")
    stop: str = Field(description="the line at which 2.4 ends its start, and why; empty if none is known")
    to_decide: list[ToDecide] = Field(description="what needs review or a decision, the worst first")
    counts: FindingNumbers
    next: str = Field(description="the command that follows, empty for none")
    files: list[str]
    lines: int
    baselined: int
    lone_files: dict[str, int] = Field(
        description="the lines of each of `files` that no Include of the server reads; the counts are without"
    )
    risks: dict[Risk, int]
    rules: dict[str, int]
    knowledge: Knowledge
    findings: list[CheckFinding]


class ChangedFile(Document):
    """A file that the upgrade changes."""

    path: str
    diff: str


class ServerCopyDocument(Document):
    """A server of its own, which upgrade --out wrote."""

    directory: str
    facts: list[str] = Field(description="sentences about lines that differ from an upgrade in place")
    go_live: str = Field(description="the command that writes the upgrade in place")


class UpgradeDocument(Document):
    """whimbrel upgrade --json"""

    done: bool = Field(description="the files are written")
    input: list[str]
    passes: int = Field(description="how often edits were applied and the result was read again")
    ready: str = Field(description="whether the result may serve under 2.4, and what stands against it")
    knowledge: Knowledge
    read: list[str]
    files: list[ChangedFile]
    server_copy: ServerCopyDocument | None = Field(description="what --out wrote")
    findings: list[UpgradeFinding]


class PlacedLine(Document):
    """A line of the configuration; line 0 stands for the whole file."""

    file: str
    line: int
    text: str


class DecidingLine(PlacedLine):
    """A line that took part in an answer, with its result in an access decision."""

    verdict: str


class LinesOfSides(Document):
    """Lines of both sides."""

    old: list[DecidingLine]
    new: list[DecidingLine]


class ProbeDocument(Document):
    """A request."""

    method: str
    target: str
    host: str
    address: str
    port: int
    client: str
    client_host: str | None
    user: str | None
    fields: list[list[str]]
    environment: list[list[str]]
    tls: bool


class AnswerDocument(Document):
    """An answer of one side."""

    status: int
    fields: list[list[str]]
    length: int
    file: str | None
    handler: str | None
    user: str | None
    log: list[str]


class DifferingPart(Document):
    """A part of two answers that differs."""

    name: str
    old: str
    new: str


class ExampleDocument(Document):
    """A request that both sides answer differently."""

    request: ProbeDocument
    client: str | None
    clients: str | None
    parts: list[DifferingPart]
    old: AnswerDocument
    new: AnswerDocument


class DifferenceDocument(Document):
    """Differences with one cause."""

    kind: Literal["access", "response", "httpd"]
    risk: Risk
    count: int
    assumed: bool
    reason: str = Field("", description="why answers differ where no line decides it, or what is known of it")
    rule: str = Field("", description="the rule of check that calls the change cosmetic; empty for none")
    decided: list[str] = Field(
        default=[], description="comments of NEW that record a decision about it: RULE at FILE:LINE"
    )
    cause: LinesOfSides
    lines: LinesOfSides
    examples: list[ExampleDocument]


class NotDecidedDocument(Document):
    """What could not be compared."""

    reason: str
    request: ProbeDocument | None


class VerifyDocument(Document):
    """whimbrel verify --format json"""

    verdict: Literal["same", "different", "does not load", "not decided"]
    ready: str = Field(description="whether NEW may serve under 2.4; empty unless OLD is read as 2.2")
    old: str
    new: str
    errors: dict[str, list[str]]
    no_start: str = Field(
        description="what stops NEW on this machine: FILE:LINE: reason, or the reason alone where no line is "
        "behind it; empty for nothing"
    )
    chains: int
    requests: int
    limits: list[str]
    knowledge: Knowledge
    differences: list[DifferenceDocument]
    not_decided: list[NotDecidedDocument]


class StepDocument(Document):
    """One step on the way of a request; empty parts are left out."""

    kind: str
    what: str
    result: str = ""
    detail: str = ""
    lines: list[PlacedLine] = []
    steps: list[StepDocument] = []


class CauseDocument(Document):
    """Why a request has its answer."""

    lines: list[PlacedLine]
    sentence: str


class SideDocument(Document):
    """The way of a request on one side."""

    request: str
    dialect: Literal["2.2", "2.4", "guide"]
    status: int | None = Field(description="null where a program or back end decides it")
    location: str
    errors: list[str]
    steps: list[StepDocument]


class ExplainDocument(SideDocument):
    """whimbrel explain URL --json"""

    because: CauseDocument
    notice: str = Field("", description="about the text or the log line that is answered; absent without any")
    knowledge: Knowledge


class ChangedStep(Document):
    """A step that differs; null on the side that lacks it."""

    old: StepDocument | None
    new: StepDocument | None


class ResponsePart(Document):
    """A header field, or the body, of two responses that differ; "" where a response lacks the field."""

    name: str
    old: str
    new: str


class ExplainDiffDocument(Document):
    """whimbrel explain URL --diff OTHER --json"""

    notice: str = Field("", description="that a side has the text of an upgrade; absent without one")
    old: SideDocument
    new: SideDocument
    changes: list[ChangedStep]
    differences: list[ResponsePart]
    knowledge: Knowledge


class NamedCount(Document):
    """A name with its number of requests."""

    name: str
    requests: int


class Numbers(Document):
    """How many different clients, users, hosts and paths."""

    clients: int
    users: int
    hosts: int
    paths: int


class ReplayChange(Document):
    """A change of the answers to logged requests."""

    what: str
    reason: str = Field("", description="why answers change where no line decides it, or what is known of it")
    rule: str = Field("", description="the rule of check that calls the change cosmetic; empty for none")
    decided: list[str] = Field(
        default=[], description="comments of NEW that record a decision about it: RULE at FILE:LINE"
    )
    requests: int
    old_lines: list[PlacedLine]
    new_lines: list[PlacedLine]
    clients: list[NamedCount]
    users: list[NamedCount]
    hosts: list[NamedCount]
    paths: list[NamedCount]
    numbers: Numbers
    examples: list[str]


class SkippedLines(Document):
    """Lines of the log that were not replayed."""

    malformed: int
    huge: int
    without_request: int
    examples: list[str]


class LogDifference(Document):
    """A logged status that the new configuration does not give."""

    logged: int
    now: int
    requests: int
    example: str


class LogComparison(Document):
    """The logged statuses beside those of the new configuration."""

    as_logged: int
    differences: list[LogDifference]


class ReplayDocument(Document):
    """whimbrel replay --format json"""

    old: str
    new: str
    logs: list[str]
    errors: list[str]
    lines: int
    requests: int
    compared: int = Field(description="requests that were run; a program or back end answers the others")
    changed: int
    ready: str = Field(description="whether NEW may serve under 2.4; empty unless OLD is read as 2.2")
    knowledge: Knowledge
    not_run: int
    missing_files: int
    skipped: SkippedLines
    changes: list[ReplayChange]
    log: LogComparison


class FleetRule(Document):
    """A rule over all servers."""

    rule: str
    name: str
    risk: Risk = Field(description="the worst of its findings")
    servers: int
    findings: int


class RuleOfServer(Document):
    """The findings of a rule with one risk on a server."""

    rule: str
    risk: Risk
    count: int


class FleetServerDocument(Document):
    """A server of a fleet."""

    name: str
    path: str
    verdict: str = Field(description="findings, same, not decided ...")
    exit_code: Literal[0, 1, 2, 3] = Field(description="that of the command for this server alone")
    risks: dict[Risk, int]
    rules: list[RuleOfServer]
    review: int = Field(0, description="findings to decide, as counts.to_decide of one server")
    per_request: int = Field(0, description="those of `breaks start-up` that fail requests with 500 instead")
    undecided: int = Field(description="facts that are not known and may matter")
    files: int
    lines: int
    changed: int = Field(description="files that an upgrade changes")
    fault: str | None = Field(description="why there is no result")
    note: str | None = Field(None, description="what limits the result")
    seconds: float
    same_as: str | None = Field(description="the equal server whose result this is")


class FleetDocument(Document):
    """whimbrel check, upgrade and verify --fleet --format json"""

    command: Literal["check", "upgrade", "verify"]
    total: int = Field(description="servers of the fleet; fewer are below if it was interrupted")
    interrupted: bool
    cut_writes: list[str] = Field(description="servers that were being written at an interrupt")
    seconds: float
    workers: int
    exit_code: Literal[0, 1, 2, 3]
    verdicts: dict[str, int]
    rules: list[FleetRule] = Field(description="the worst risk first, then those of most servers")
    first: str | None = Field(None, description="what to do before the next command")
    next: str | None = Field(None, description="the command that follows")
    servers: list[FleetServerDocument]


MODELS: Final[dict[str, type[Document]]] = {
    "check-1": CheckDocument,
    "explain-1": ExplainDocument,
    "explain-diff-1": ExplainDiffDocument,
    "fleet-1": FleetDocument,
    "replay-1": ReplayDocument,
    "upgrade-1": UpgradeDocument,
    "verify-1": VerifyDocument,
}
"""The model of each schema: the command and the version of its document."""


def schema_of(name: str) -> dict[str, Any]:
    """Return the JSON schema *name*; documents may have further keys."""
    schema = MODELS[name].model_json_schema()
    _allow_further_keys(schema)
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": f"urn:whimbrel:schema:{name}"}
    return {**head, **schema}


def _allow_further_keys(part: object) -> None:
    if isinstance(part, dict):
        if part.get("additionalProperties") is False:
            del part["additionalProperties"]
        for value in part.values():
            _allow_further_keys(value)
    elif isinstance(part, list):
        for value in part:
            _allow_further_keys(value)

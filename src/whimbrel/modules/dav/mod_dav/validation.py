"""Conditions of a modifying method: If-Match and its relatives, the If field, locks (RFC 4918, 7 and 10.4).

Order, statuses and messages are httpd's.
"""

from __future__ import annotations

from enum import IntFlag

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.engine.request import Request
from whimbrel.engine.time_slices import Slices
from whimbrel.http.semantics.conditional import PreconditionResult, meets_conditions
from whimbrel.modules.dav.mod_dav.errors import DavError, ErrorId
from whimbrel.modules.dav.mod_dav.if_header import (
    Condition,
    ConditionList,
    IfHeader,
    StateKind,
    parse,
)
from whimbrel.modules.dav.mod_dav.locks import Lock, LockScope, parse_token
from whimbrel.modules.dav.mod_dav.multistatus import ResourceStatus
from whimbrel.modules.dav.mod_dav.provider import Resource
from whimbrel.modules.dav.mod_dav.state import LockView, ResourceState, locks_of, state_of, walk


class Check(IntFlag):
    """What `validate` checks besides the resource itself, and how it reports failures of other resources.

    PARENT: its collection, to which a member is added or from which one is removed.
    NO_MODIFY: the resource is only read, so that a lock does not matter.
    DEPENDENCY: failures of other resources have status 424 in all, not 207.
    DISCOVERY: the response of LOCK has an empty lockdiscovery property.
    """

    RESOURCE = 0
    PARENT = 1
    NO_MODIFY = 2
    DEPENDENCY = 4
    DISCOVERY = 8


def if_header(r: Request) -> IfHeader:
    """Return the If field of *r*; raise DavError."""
    value = r.headers_in.get("If")
    return () if value is None else parse(value, parse_token)


def submitted_tokens(r: Request) -> list[str]:
    """Return the lock tokens of the If field, those after Not aside; raise DavError if there are none."""
    found = [
        condition.value
        for each in if_header(r)
        for condition in each.conditions
        if condition.kind is StateKind.TOKEN and not condition.is_negated
    ]
    if not found:
        raise DavError(
            400,
            'No locktokens were specified in the "If:" header, so the refresh could not be performed.',
            ErrorId.IF_ABSENT,
        )
    return found


@dataclass(frozen=True, slots=True)
class _Request:
    """The conditions of one request; *scope*: of the lock that it asks for."""

    r: Request
    header: IfHeader
    locks: LockView
    check: Check
    scope: LockScope | None


async def validate(
    r: Request,
    resource: Resource,
    check: Check,
    *,
    depth: int = 0,
    token: str | None = None,
    scope: LockScope | None = None,
) -> None:
    """Raise DavError unless the conditions of *r* hold for *resource* and those below it down to *depth*.

    *token* is that of Lock-Token; *scope*: LOCK asks for a new lock.
    """
    _check_fields(r, resource)
    header = if_header(r)
    if token is not None:
        dummy = ConditionList(resource.uri, (Condition(StateKind.TOKEN, token),), is_lock_token=True)
        header = (dummy, *header)
    store = locks_of(r)
    if store is not None:
        store.check()
    view = LockView(store)
    request = _Request(r, header, view, check, scope)
    responses: list[ResourceStatus] = []
    failure = _state_failure(request, resource)
    if failure is not None:
        raise failure
    if resource.exists and depth and (header or not check & Check.NO_MODIFY):
        responses = await _below(request, resource)
    if check & Check.PARENT:
        responses = [*_parent_failure(request, resource), *responses]
    if responses:
        raise _summary(resource, check, responses)


def _check_fields(r: Request, resource: Resource) -> None:
    """Raise DavError unless If-Match, If-None-Match and their relatives hold."""
    tag = resource.etag(r)
    state = state_of(r, resource)
    fields = r.headers_in
    match = fields.get_list("If-Match")
    none_match = fields.get_list("If-None-Match")
    if match is not None and match[:1] == "*" and state is not ResourceState.EXISTS:
        raise DavError(412)
    result = meets_conditions(
        r.method, fields, tag or None, None, int(r.time), r.status, version22=r.plan.dialect.wire_22
    )
    if result is PreconditionResult.OK:
        return
    is_missing = state is not ResourceState.EXISTS
    if is_missing and none_match is not None and none_match[:1] == "*":
        return
    raise DavError(412)


async def _below(request: _Request, resource: Resource) -> list[ResourceStatus]:
    """Return the failures of the resources below *resource*, last one first."""
    if not request.header and not request.locks.has_locks_below(resource):
        return []  # nothing can fail
    found: list[ResourceStatus] = []
    slices = Slices(request.r.engine.turns)
    for each in walk(resource, -1, request.locks):
        await slices.pause()
        if each is resource or each.is_same(resource):
            continue
        failure = _state_failure(request, each)
        if failure is None:
            continue
        if failure.status >= 500:
            raise failure
        found.append(ResourceStatus(each.uri, failure.status))
    return found[::-1]


def _parent_failure(request: _Request, resource: Resource) -> list[ResourceStatus]:
    parent = resource.parent()
    if parent is None:
        raise DavError(403, "Cannot access parent of repository root.")
    failure = _state_failure(request, parent, is_parent=True)
    if failure is None:
        return []
    text = (
        "A validation error has occurred on the parent resource, preventing the operation on the resource "
        "specified by the Request-URI."
    )
    if failure.description:
        text += f" The error was: {failure.description}"
    return [ResourceStatus(parent.uri, failure.status, text)]


def _summary(resource: Resource, check: Check, responses: list[ResourceStatus]) -> DavError:
    if check & Check.DEPENDENCY:
        return DavError(
            424,
            "An error occurred on another resource, preventing the requested operation on this resource.",
            responses=responses,
        )
    propstats = (
        "<D:propstat>\n<D:prop><D:lockdiscovery/></D:prop>\n"
        "<D:status>HTTP/1.1 424 Failed Dependency</D:status>\n</D:propstat>\n"
        if check & Check.DISCOVERY
        else ""
    )
    own = ResourceStatus(
        resource.uri,
        424,
        "An error occurred on another resource, preventing the requested operation on this resource.",
        propstats,
    )
    return DavError(
        207,
        "Error(s) occurred on resources during the validation process.",
        responses=(own, *responses),
    )


def _state_failure(request: _Request, resource: Resource, *, is_parent: bool = False) -> DavError | None:
    """Return the reason why *resource* may not be modified, None if it may."""
    try:
        locks = request.locks.find(resource)
    except DavError as problem:
        return problem.within(
            'The locks could not be queried for verification against a possible "If:" header.', status=500
        )
    conflict = _conflict(request.scope, locks)
    if conflict is not None:
        return conflict
    is_free = request.scope in (LockScope.EXCLUSIVE, LockScope.SHARED) or not locks
    is_free = is_free or bool(request.check & Check.NO_MODIFY)
    header = request.header
    if not header:
        if is_free:
            return None
        return DavError(
            423,
            'This resource is locked and an "If:" header was not supplied to allow access to the resource.',
        )
    if not locks and header[0].is_lock_token:
        if is_parent:
            return None
        return DavError(
            400,
            'The locktoken specified in the "Lock-Token:" header is invalid because this resource has no '
            "outstanding locks.",
        )
    return _Evaluation(request, resource, locks, is_free).failure()


def _conflict(scope: LockScope | None, locks: list[Lock]) -> DavError | None:
    if scope is LockScope.EXCLUSIVE and locks:
        return DavError(423, "Existing lock(s) on the requested resource prevent an exclusive lock.")
    if scope is LockScope.SHARED and any(lock.scope is LockScope.EXCLUSIVE for lock in locks):
        return DavError(423, "The requested resource is already locked exclusively.")
    return None


class _Evaluation:
    """The lists of an If field, evaluated for one resource; *is_seen*: no lock token is needed (any more)."""

    __slots__ = ("etag", "is_seen", "locks", "reason", "request", "resource", "tokens")

    def __init__(self, request: _Request, resource: Resource, locks: list[Lock], is_seen: bool) -> None:
        self.request = request
        self.resource = resource
        self.locks = locks
        self.is_seen = is_seen
        self.tokens = {lock.token: lock for lock in locks}
        self.etag: str | None = None
        self.reason = ""

    def failure(self) -> DavError | None:
        """Return the reason why the field does not admit the request, None if it does."""
        header = self.request.header
        uri = self.resource.uri
        uri = uri[:-1] if len(uri) > 1 and uri.endswith("/") else uri
        applicable = [each for each in header if each.uri is None or each.uri == uri]
        if any(all(self._holds(c) for c in each.conditions) for each in applicable):
            if self.is_seen or self._is_submitted():
                return None
            return self._wrong_token() or self._not_submitted(ErrorId.NO_TOKEN_GIVEN)
        if not applicable:
            return None if self.is_seen or self._is_submitted() else self._not_submitted(ErrorId.NONE)
        return self._wrong_token() or DavError(412, self._reason())

    def _is_submitted(self) -> bool:
        return any(
            condition.kind is StateKind.TOKEN and condition.value in self.tokens
            for each in self.request.header
            for condition in each.conditions
        )

    def _wrong_token(self) -> DavError | None:
        if not self.request.header[0].is_lock_token:
            return None
        return DavError(
            400,
            'The locktoken specified in the "Lock-Token:" header did not specify one of this resource\'s '
            "locktoken(s).",
        )

    @staticmethod
    def _not_submitted(error_id: ErrorId) -> DavError:
        return DavError(
            423,
            'This resource is locked and the "If:" header did not specify one of the locktokens for this '
            "resource's lock(s).",
            error_id,
        )

    def _reason(self) -> str:
        if not self.reason:
            return 'The preconditions specified by the "If:" header did not match this resource.'
        return (
            'The precondition(s) specified by the "If:" header did not match this resource. At least one '
            f"failure is because: {self.reason}"
        )

    def _holds(self, condition: Condition) -> bool:
        if condition.kind is StateKind.ETAG:
            return self._has_tag(condition)
        if condition.kind is StateKind.TOKEN:
            return self._has_token(condition)
        if not condition.is_negated:
            self.reason = "an unknown state token was supplied"
        return condition.is_negated

    def _has_tag(self, condition: Condition) -> bool:
        if self.etag is None:
            self.etag = self.resource.etag(self.request.r).removeprefix("W/")
        is_equal = condition.value.removeprefix("W/") == self.etag
        if is_equal is not condition.is_negated:
            return True
        self.reason = (
            'an entity-tag was specified using the "Not" form, but the resource\'s actual ETag matches the '
            "provided entity-tag."
            if is_equal
            else "an entity-tag was specified, but the resource's actual ETag does not match."
        )
        return False

    def _has_token(self, condition: Condition) -> bool:
        lock = self.tokens.get(condition.value)
        if lock is None:
            if not condition.is_negated:
                self.reason = (
                    "a State-token was supplied, but it was not found in the locks on this resource."
                )
            return condition.is_negated
        self.is_seen = True
        if condition.is_negated:
            self.reason = (
                'a State-token was supplied, which used a "Not" condition. The State-token was found in the '
                "locks on this resource"
            )
            return False
        user = self.request.r.user
        if lock.user is not None and lock.user != user:
            raise DavError(403, f'User "{user or ""}" submitted a locktoken created by user "{lock.user}".')
        return True

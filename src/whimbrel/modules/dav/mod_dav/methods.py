"""PUT, DELETE, MKCOL, COPY and MOVE (RFC 4918, 9)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from time import perf_counter
from typing import Final

from whimbrel.base.numbers import lower
from whimbrel.engine.request import Request
from whimbrel.http.syntax.url import escape_html, escape_uri
from whimbrel.modules.dav.mod_dav.errors import DavError, Refusal, page
from whimbrel.modules.dav.mod_dav.fields import (
    INVALID_DEPTH,
    content_range,
    depth_of,
    destination_of,
    may_overwrite,
)
from whimbrel.modules.dav.mod_dav.provider import ALL, Resource, Upload
from whimbrel.modules.dav.mod_dav.state import ResourceState, locks_of, resource_of, state_of
from whimbrel.modules.dav.mod_dav.validation import Check, validate
from whimbrel.registry.phases import HookStatus

SMALL: Final = 64 * 1024  # bytes of a body that is written in one step
SLICE: Final = 0.02  # seconds of blocking work after which a client that has gone away ends it
UNAUTHORIZED: Final = 401


def created(r: Request, what: str, location: str, *, is_replaced: bool) -> HookStatus:
    """Respond with 204, or with 201 and the URL *location*, an escaped path."""
    if is_replaced:
        return 204
    r.headers_out.set("Location", r.engine.construct_url(r, location))
    return page(r, 201, f"{what} {escape_html(location)} has been created.")


async def run_steps(r: Request, steps: Iterator[None]) -> None:
    """Run blocking *steps* in a thread, some at a time; a cancelled request closes them."""

    def some() -> bool:
        end = perf_counter() + SLICE
        for _ in steps:
            if perf_counter() >= end:
                return True
        return False

    try:
        while await r.engine.runtime.in_thread(some):
            pass
    finally:
        close = getattr(steps, "close", None)
        if close is not None:
            close()
        r.engine.stat_cache.known.clear()  # results of this tick may be those before the change


# PUT ----------------------------------------------------------------------------------------------------
async def put(r: Request) -> HookStatus:
    """Store the body as the new content of the resource."""
    resource = resource_of(r)
    if resource.is_collection:
        return page(r, 409, "Cannot PUT to a collection.")
    state = state_of(r, resource)
    await validate(r, resource, Check.PARENT if state is ResourceState.NULL else Check.RESOURCE)
    try:
        position = content_range(r)
    except ValueError:
        return page(r, 400, f"Malformed Content-Range header for PUT {escape_html(r.uri)}.")
    await _store(r, resource, position)
    return created(r, "Resource", escape_uri(r.uri), is_replaced=state is ResourceState.EXISTS)


async def _store(r: Request, resource: Resource, position: int | None) -> None:
    body = r.body_in
    threads = r.engine.runtime
    body.check_announced()
    pieces: list[bytes] = []
    size = 0
    while size <= SMALL and (data := await body.read()):
        pieces.append(data)
        size += len(data)
    is_complete = size <= SMALL
    first = b"".join(pieces)
    pieces.clear()
    writer = _Writer(resource, position)
    try:
        await threads.in_thread(partial(writer.begin, first, is_complete))
        if not is_complete:
            while data := await body.read():
                await threads.in_thread(partial(writer.write, data))
            await threads.in_thread(writer.commit)
    except _OpeningFailed as problem:
        status = 403 if r.plan.dialect.dav_22 else problem.error.status
        text = f"Unable to PUT new contents for {escape_html(r.uri)}."
        raise problem.error.within(text, status=status) from None
    finally:
        writer.close()
        r.engine.stat_cache.known.clear()


class _OpeningFailed(Exception):
    """The resource cannot be written at all."""

    def __init__(self, error: DavError) -> None:
        super().__init__(error)
        self.error = error


class _Writer:
    """The upload of one PUT; its functions block, and `close` drops what was not committed."""

    __slots__ = ("_position", "_resource", "_upload")

    def __init__(self, resource: Resource, position: int | None) -> None:
        self._resource = resource
        self._position = position
        self._upload: Upload | None = None

    def begin(self, first: bytes, is_complete: bool) -> None:
        """Open the resource and write the first bytes, all if the body *is_complete*."""
        try:
            self._upload = self._resource.upload(self._position)
        except DavError as problem:
            raise _OpeningFailed(problem) from None
        self.write(first)
        if is_complete:
            self.commit()

    def write(self, data: bytes) -> None:
        """Write the next bytes."""
        assert self._upload is not None
        self._upload.write(data)

    def commit(self) -> None:
        """Make the new content visible."""
        assert self._upload is not None
        self._upload.commit()
        self._upload = None

    def close(self) -> None:
        """Drop a content that is incomplete."""
        if self._upload is not None:
            self._upload.abort()
            self._upload = None


# DELETE and MKCOL ---------------------------------------------------------------------------------------
async def delete(r: Request) -> HookStatus:
    """Remove the resource and all below it."""
    await r.body_in.discard()
    resource = resource_of(r)
    if not resource.exists:
        return 404
    depth = depth_of(r)
    if resource.is_collection and depth != ALL:
        text = 'Depth must be "infinity" for DELETE of a collection.'
        r.log("error", text, code="AH00582", module="dav")
        return 400
    if not resource.is_collection and depth == 1:
        r.log("error", 'Depth of "1" is not allowed for DELETE.', code="AH00583", module="dav")
        return 400
    name = escape_html(r.uri)
    try:
        await validate(r, resource, Check.PARENT | Check.DEPENDENCY, depth=depth)
    except DavError as problem:
        text = f"Could not DELETE {name} due to a failed precondition (e.g. locks)."
        raise problem.within(text) from None
    locks = locks_of(r)
    if locks is not None:
        try:
            locks.remove_tree(resource.key)
        except DavError:
            return 500
    try:
        await run_steps(r, resource.remove())
    except DavError as problem:
        raise problem.within(f"Could not DELETE {name}.") from None
    return 204


async def mkcol(r: Request) -> HookStatus:
    """Create a collection."""
    coding = r.headers_in.get_list("Transfer-Encoding")
    if coding is not None and lower(coding) != "chunked":
        r.log("error", f"Unknown Transfer-Encoding {coding}", code="AH00589", module="dav")
        return 501
    if r.body_in.length != 0 or not r.body_in.ended:
        return 415
    resource = resource_of(r)
    if resource.exists:
        return 405
    state = state_of(r, resource)
    await validate(r, resource, Check.PARENT if state is ResourceState.NULL else Check.RESOURCE)
    try:
        resource.create_collection()
    finally:
        r.engine.stat_cache.known.clear()
    return created(r, "Collection", escape_uri(r.uri), is_replaced=False)


# COPY and MOVE ------------------------------------------------------------------------------------------
async def copy(r: Request) -> HookStatus:
    """Copy the resource to the URL of the Destination field."""
    return await _copy_or_move(r, is_move=False)


async def move(r: Request) -> HookStatus:
    """Move the resource to the URL of the Destination field."""
    return await _copy_or_move(r, is_move=True)


async def _copy_or_move(r: Request, *, is_move: bool) -> HookStatus:
    resource = resource_of(r)
    if not resource.exists:
        return 404
    try:
        path = destination_of(r)
    except DavError as problem:
        return page(r, problem.status, problem.description)
    sub = await r.engine.lookup_uri(r, path, r.method)
    if sub.status != 200:
        challenge = sub.err_headers_out.get_list("WWW-Authenticate")
        if sub.status == UNAUTHORIZED and challenge is not None:
            r.err_headers_out.set("WWW-Authenticate", challenge)
        return page(r, sub.status, "Destination URI had an error.")
    target = resource_of(sub)
    refusal = _refusal(r, resource, target)
    if refusal:
        return page(r, *refusal)
    depth = _depth(r, resource, is_move)
    await _validate_both(r, sub, resource, target, depth, is_move)
    if resource.is_collection and depth == ALL and resource.contains(target):
        return page(r, 403, "Source collection contains the Destination.")
    if resource.is_collection and target.contains(resource):
        text = "Destination collection contains the Source and Overwrite has been specified."
        return page(r, 403, text)
    await r.body_in.discard()
    locks = locks_of(r)
    if is_move and locks is not None:
        locks.remove_tree(resource.key)
    state = state_of(sub, target)
    try:
        await run_steps(r, resource.move_to(target) if is_move else resource.copy_to(target, depth))
    except DavError as problem:
        raise problem.within(f"Could not MOVE/COPY {escape_html(r.uri)}.") from None
    return created(r, "Destination", sub.untracked_target, is_replaced=state is ResourceState.EXISTS)


def _refusal(r: Request, resource: Resource, target: Resource) -> tuple[int, str] | None:
    """Return status and text of a refusal because of the two resources alone."""
    if type(target) is not type(resource):
        return 502, (
            "Destination URI is handled by a different repository than the source URI. MOVE or COPY between "
            "repositories is not possible."
        )
    if not may_overwrite(r) and target.exists:
        return 412, 'Destination is not empty and Overwrite is not "T"'
    if resource.is_same(target):
        return 403, "Source and Destination URIs are the same."
    return None


def _depth(r: Request, resource: Resource, is_move: bool) -> int:
    depth = depth_of(r)
    if depth == INVALID_DEPTH:
        raise Refusal(400)
    if depth == 1:
        text = 'Depth must be "0" or "infinity" for COPY or MOVE.'
        r.log("error", text, code="AH00593", module="dav")
        raise Refusal(400)
    if is_move and resource.is_collection and depth != ALL:
        text = 'Depth must be "infinity" when moving a collection.'
        r.log("error", text, code="AH00594", module="dav")
        raise Refusal(400)
    return depth


async def _validate_both(
    r: Request, sub: Request, resource: Resource, target: Resource, depth: int, is_move: bool
) -> None:
    name = escape_html(r.uri)
    source_check = Check.PARENT if is_move else Check.RESOURCE | Check.NO_MODIFY
    try:
        await validate(r, resource, source_check | Check.DEPENDENCY, depth=depth)
    except DavError as problem:
        text = (
            f"Could not {'MOVE' if is_move else 'COPY'} {name} due to a failed precondition on the source "
            "(e.g. locks)."
        )
        raise problem.within(text) from None
    try:
        await validate(sub, target, Check.PARENT | Check.DEPENDENCY, depth=ALL)
    except DavError as problem:
        text = f"Could not MOVE/COPY {name} due to a failed precondition on the destination (e.g. locks)."
        raise problem.within(text) from None

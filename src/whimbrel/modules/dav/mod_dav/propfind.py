"""PROPFIND (RFC 4918, 9.1): properties of a resource and its members, written while they are found."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from whimbrel.engine.body import Aborted, Source
from whimbrel.engine.request import Request
from whimbrel.engine.time_slices import Slices
from whimbrel.http.syntax.url import escape_html
from whimbrel.modules.dav.mod_dav.errors import XML_TYPE, DavError, Refusal, log_error, page
from whimbrel.modules.dav.mod_dav.fields import INVALID_DEPTH, depth_of
from whimbrel.modules.dav.mod_dav.multistatus import END, begin
from whimbrel.modules.dav.mod_dav.properties import Describer, PropfindKind
from whimbrel.modules.dav.mod_dav.provider import ALL, Resource
from whimbrel.modules.dav.mod_dav.settings import DavDirConfig
from whimbrel.modules.dav.mod_dav.state import (
    LockView,
    ResourceState,
    listing,
    locks_of,
    resource_of,
    state_of,
)
from whimbrel.modules.dav.mod_dav.xml_document import Document, read_document
from whimbrel.registry.phases import DONE, HookStatus

BUFFER: Final = 8000  # bytes after which httpd sends the head, without a length
GATHERED: Final = 64 * 1024  # bytes of one piece of a longer body


class Listing(Source):
    """The rest of a multistatus body; memory does not grow with the number of resources."""

    __slots__ = ("_pieces", "_r")

    def __init__(self, r: Request, pieces: AsyncIterator[str]) -> None:
        self._r = r
        self._pieces = pieces

    async def read(self) -> bytes | None:
        """Return the next responses; raise Aborted if the walk fails."""
        gathered: list[str] = []
        size = 0
        try:
            async for text in self._pieces:
                gathered.append(text)
                size += len(text)
                if size >= GATHERED:
                    break
        except DavError as problem:
            abort(self._r, problem)
        return "".join(gathered).encode("latin-1") or None

    async def aclose(self) -> None:
        """End the walk."""
        close = getattr(self._pieces, "aclose", None)
        if close is not None:
            await close()


def abort(r: Request, problem: DavError) -> None:
    """Log a failure after the head was sent, and raise Aborted."""
    text = "Provider encountered an error while streaming a multistatus PROPFIND response."
    log_error(r, problem.within(text))
    raise Aborted(text)


async def propfind(r: Request) -> HookStatus:
    """Respond with the properties that the body names."""
    resource = resource_of(r)
    document = await read_document(r)
    if state_of(r, resource) is ResourceState.NULL:
        return 404
    depth = depth_of(r)
    if depth == INVALID_DEPTH:
        return 400
    conf = r.dir_config(DavDirConfig)
    if depth == ALL and resource.is_collection and not conf.depth_infinity:
        text = f'PROPFIND requests with a Depth of "infinity" are not allowed for {escape_html(r.uri)}.'
        return page(r, 403, text)
    kind = kind_of(r, document)
    store = locks_of(r)
    if store is not None:
        try:
            store.check()
        except DavError as problem:
            raise problem.within(
                "The lock database could not be opened, preventing access to the various lock properties for "
                "the PROPFIND."
            ) from None
    locks = LockView(store)
    describer = Describer(r, kind, document, locks, shows_locks=conf.lock_discovery)
    r.status = 207
    r.content_type = XML_TYPE
    await _write(r, _pieces(r, resource, depth, locks, describer, document))
    return DONE


def kind_of(r: Request, document: Document | None) -> PropfindKind:
    """Return what the body asks for; raise Refusal(400) for another body, which is logged."""
    if document is not None and not document.has_root("propfind"):
        r.log("error", 'The "propfind" element was not found.', code="AH00585", module="dav")
        raise Refusal(400)
    if document is None or document.root.child("allprop") is not None:
        return PropfindKind.ALL
    if document.root.child("propname") is not None:
        return PropfindKind.NAMES
    if document.root.child("prop") is not None:
        return PropfindKind.NAMED
    text = (
        'The "propfind" element does not contain one of the required child elements (the specific command).'
    )
    r.log("error", text, code="AH00586", module="dav")
    raise Refusal(400)


async def _pieces(
    r: Request,
    resource: Resource,
    depth: int,
    locks: LockView,
    describer: Describer,
    document: Document | None,
) -> AsyncIterator[str]:
    gathered = [begin(document.namespaces if document is not None else ())]
    size = 0
    steps = 0
    slices = Slices(r.engine.turns)
    resources = listing(resource, depth, locks, describer.texts(resource))
    try:
        for each in resources:
            text = each if isinstance(each, str) else describer.describe_now(each)
            if text is None:
                assert not isinstance(each, str)
                text = await describer.describe(each)
            gathered.append(text)
            size += len(text)
            steps += 1
            if not steps & 7 or text is each or len(text) > BUFFER:
                await slices.pause()
            if size > BUFFER:
                yield "".join(gathered)
                gathered = []
                size = 0
    finally:
        resources.close()
    yield "".join((*gathered, END))


async def _write(r: Request, pieces: AsyncIterator[str]) -> None:
    """Add the body: complete if it is short, else its beginning and a source of the rest."""
    gathered: list[str] = []
    size = 0
    try:
        async for text in pieces:
            gathered.append(text)
            size += len(text)
            if size > BUFFER:
                break
    except DavError as problem:
        abort(r, problem)
    r.write("".join(gathered))
    if size > BUFFER:
        r.chunked = True
        r.body.append(Listing(r, pieces))

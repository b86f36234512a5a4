"""LOCK and UNLOCK (RFC 4918, 9.10 and 9.11)."""

from __future__ import annotations

from time import time

from whimbrel.base.lazy_dataclasses import replace
from whimbrel.engine.request import Request
from whimbrel.http.syntax.url import escape_html
from whimbrel.modules.dav.mod_dav.errors import XML_TYPE, DavError
from whimbrel.modules.dav.mod_dav.fields import depth_of, expiry
from whimbrel.modules.dav.mod_dav.locks import (
    INFINITE,
    SCHEME,
    Lock,
    LockScope,
    LockStore,
    active_locks,
    new_token,
    parse_token,
)
from whimbrel.modules.dav.mod_dav.multistatus import XML_HEADER
from whimbrel.modules.dav.mod_dav.provider import ALL, Resource
from whimbrel.modules.dav.mod_dav.settings import DavDirConfig
from whimbrel.modules.dav.mod_dav.state import ResourceState, locks_of, resource_of, state_of
from whimbrel.modules.dav.mod_dav.validation import Check, submitted_tokens, validate
from whimbrel.modules.dav.mod_dav.xml_document import Document, XmlElement, read_document, standalone
from whimbrel.registry.phases import DECLINED, DONE, HookStatus


async def lock(r: Request) -> HookStatus:
    """Lock the resource, or refresh its locks if there is no body."""
    store = locks_of(r)
    if store is None:
        return DECLINED
    document = await read_document(r)
    depth = depth_of(r)
    if depth not in (0, ALL):
        r.log("error", 'Depth must be 0 or "infinity" for LOCK.', code="AH00595", module="dav")
        return 400
    resource = resource_of(r)
    if not r.plan.dialect.dav_22:
        parent = resource.parent()
        if parent is not None and not (parent.exists and parent.is_collection):
            text = f"The parent resource of {escape_html(r.uri)} does not exist or is not a collection."
            raise DavError(409, text)
    store.check()
    wanted = None if document is None else lock_info(r, resource, document, is_deep=depth == ALL)
    await _validate(r, resource, depth, wanted)
    if wanted is None:
        locks = _refresh(r, resource, store)
    else:
        locks = [_add(r, resource, store, wanted)]
        r.headers_out.set("Lock-Token", f"<{SCHEME}{wanted.token}>")
    r.content_type = XML_TYPE
    text = "<D:lockdiscovery/>\n"
    if locks:
        text = f"<D:lockdiscovery>\n{active_locks(locks)}\n</D:lockdiscovery>\n"
    r.write(f'{XML_HEADER}<D:prop xmlns:D="DAV:">\n{text}</D:prop>')
    return DONE


def lock_info(r: Request, resource: Resource, document: Document, *, is_deep: bool) -> Lock:
    """Return the lock that a <D:lockinfo> body asks for; raise DavError."""
    if not document.has_root("lockinfo"):
        raise DavError(400, "The request body contains an unexpected XML root element.")
    scope = LockScope.UNKNOWN
    is_write = False
    owner = ""
    for child in document.root.children:
        first = child.children[0].name if child.children else ""
        if child.name == "locktype" and not is_write and first == "write":
            is_write = True
        elif child.name == "lockscope" and scope is LockScope.UNKNOWN and first in ("exclusive", "shared"):
            scope = LockScope.EXCLUSIVE if first == "exclusive" else LockScope.SHARED
        elif child.name == "owner" and not owner:
            owner = _owner(child, document)
        else:
            raise DavError(
                412,
                "The server cannot satisfy the LOCK request due to an unknown XML element "
                f'("{child.name}") within the DAV:lockinfo element.',
            )
    return Lock(resource.key, new_token(), scope, is_write, is_deep, expiry(r), owner, r.user)


def _owner(element: XmlElement, document: Document) -> str:
    element.tail = ""
    return standalone(element, document.namespaces)


async def _validate(r: Request, resource: Resource, depth: int, wanted: Lock | None) -> None:
    check = Check.PARENT if state_of(r, resource) is ResourceState.NULL else Check.RESOURCE
    scope = None if wanted is None else wanted.scope
    try:
        await validate(r, resource, check | Check.DISCOVERY, depth=depth, scope=scope)
    except DavError as problem:
        text = f"Could not LOCK {escape_html(r.uri)} due to a failed precondition (e.g. other locks)."
        raise problem.within(text) from None


def _refresh(r: Request, resource: Resource, store: LockStore) -> list[Lock]:
    try:
        tokens = submitted_tokens(r)
    except DavError as problem:
        text = (
            f"The lock refresh for {escape_html(r.uri)} failed because no lock tokens were specified in an "
            '"If:" header.'
        )
        raise problem.within(text) from None
    return store.refresh(resource.key, tokens, expiry(r))


def _add(r: Request, resource: Resource, store: LockStore, wanted: Lock) -> Lock:
    least = int(time()) + r.dir_config(DavDirConfig).min_timeout
    if wanted.expires != INFINITE and wanted.expires < least:
        wanted = replace(wanted, expires=least)
    if not resource.exists:
        resource.ensure_lockable()
    store.add(wanted)
    return wanted


async def unlock(r: Request) -> HookStatus:
    """Remove the lock that the Lock-Token field names."""
    store = locks_of(r)
    if store is None:
        return DECLINED
    field = r.headers_in.get("Lock-Token")
    if field is None:
        text = f"Unlock failed ({r.filename}):  No Lock-Token specified in header"
        r.log("error", text, code="AH00596", module="dav")
        return 400
    if not (field.startswith("<") and field.endswith(">")):
        return 400
    name = escape_html(r.uri)
    try:
        token = parse_token(field[1:-1])
    except DavError as problem:
        text = f'The UNLOCK on {name} failed -- an invalid lock token was specified in the "If:" header.'
        raise problem.within(text, status=400) from None
    resource = resource_of(r)
    state = state_of(r, resource)
    check = Check.PARENT if state is ResourceState.LOCK_NULL else Check.RESOURCE
    await validate(r, resource, check, token=token)
    try:
        if all(each.token != token for each in store.find(resource.key)):
            return 400
        store.remove(token)
    except DavError:
        return 500
    return 204

"""PROPPATCH (RFC 4918, 9.2): all changes are made, or none."""

from __future__ import annotations

from typing import Final

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.engine.request import Request
from whimbrel.modules.dav.mod_dav.errors import (
    XML_TYPE,
    DavError,
    ErrorId,
    Refusal,
    TooManyNamespaces,
    log_error,
)
from whimbrel.modules.dav.mod_dav.multistatus import END, begin, response
from whimbrel.modules.dav.mod_dav.properties import CORE, DAV_URI, LIVE_URIS, RESOURCE_TYPE
from whimbrel.modules.dav.mod_dav.propfind import BUFFER
from whimbrel.modules.dav.mod_dav.provider import PropertyName, Resource
from whimbrel.modules.dav.mod_dav.state import resource_of
from whimbrel.modules.dav.mod_dav.validation import Check, validate
from whimbrel.modules.dav.mod_dav.xml_document import (
    Document,
    XmlElement,
    empty_element,
    inner_text,
    read_document,
)
from whimbrel.registry.phases import DONE, HookStatus

_READ_ONLY = frozenset(
    (*CORE, RESOURCE_TYPE, "creationdate", "getcontentlength", "getetag", "getlastmodified")
)
EXECUTABLE = "executable"
INSUFFICIENT_STORAGE: Final = 507


@dataclass(slots=True)
class PropertyChange:
    """One property to set or to remove; *error*: why it cannot be."""

    element: XmlElement
    name: PropertyName
    is_removal: bool
    error: DavError | None = None

    @property
    def is_live(self) -> bool:
        """Return True for the one live property that can be changed."""
        return self.name.namespace == LIVE_URIS["lp2"] and self.name.name == EXECUTABLE

    def value(self, number: dict[int, int]) -> tuple[str, str]:
        return self.element.language or "", inner_text(self.element, number.__getitem__)


async def proppatch(r: Request) -> HookStatus:
    """Change properties as the body says."""
    resource = resource_of(r)
    if not resource.exists and r.plan.dialect.dav_22:
        return 404
    document = await read_document(r)
    if not resource.exists:
        return 404
    if document is None or not document.has_root("propertyupdate"):
        text = 'The request body does not contain a "propertyupdate" element.'
        r.log("error", text, code="AH00587", module="dav")
        return 400
    await validate(r, resource, Check.RESOURCE)
    edits = _edits(r, document)
    _apply(resource, edits, document)
    propstats = _failures(edits) if any(edit.error for edit in edits) else _success(edits)
    for edit in edits:
        log_error(r, edit.error)
    r.status = 207
    r.content_type = XML_TYPE
    text = begin(document.namespaces) + response(resource.uri, propstats) + END
    r.chunked = len(text) > BUFFER
    r.write(text)
    return DONE


def _edits(r: Request, document: Document) -> list[PropertyChange]:
    found = []
    for command in document.root.children:
        if command.namespace != 0 or command.name not in ("set", "remove"):
            continue
        group = command.child("prop")
        if group is None:
            text = 'A "prop" element is missing inside the propertyupdate command.'
            r.log("error", text, code="AH00588", module="dav")
            raise Refusal(400)
        for element in group.children:
            name = PropertyName(document.uri(element), element.name)
            found.append(PropertyChange(element, name, command.name == "remove"))
    return found


def _apply(resource: Resource, edits: list[PropertyChange], document: Document) -> None:
    """Make all changes, or set `error` of those that prevent them."""
    dead = [edit for edit in edits if not edit.is_live]
    for edit in edits:
        is_fixed = edit.name.namespace == DAV_URI and edit.name.name in _READ_ONLY
        if is_fixed or (edit.is_live and resource.is_collection):
            edit.error = DavError(409, "Property is read-only.", ErrorId.PROP_READONLY)
        elif edit.is_live:
            edit.error = _executable_error(edit)
    writable = [edit for edit in dead if edit.error is None]
    try:
        store = resource.properties(write=True) if writable else None
    except DavError as problem:
        opening = problem.within("Could not open the property database.", status=500)
        opening.error_id = ErrorId.PROP_OPENING
        for edit in writable:
            edit.error = opening
        return
    if any(edit.error for edit in edits):
        return
    before = resource.is_executable()
    try:
        for edit in edits:
            if edit.is_live:
                resource.set_executable(edit.element.text == "T")
        if store is not None:
            store.change(dead, document.namespaces)
    except TooManyNamespaces as problem:
        if any(edit.is_live for edit in edits):
            resource.set_executable(before)
        for edit in dead:
            if not edit.is_removal:
                edit.error = problem
    except DavError as problem:
        if any(edit.is_live for edit in edits):
            resource.set_executable(before)
        # RFC 4918, 11.5: the bound of the database, and a full disk; every other failure is httpd's 500
        status = problem.status if problem.status == INSUFFICIENT_STORAGE else 500
        failed = problem.within("Could not execute PROPPATCH.", status=status)
        failed.error_id = ErrorId.PROP_EXEC
        (dead or edits)[0].error = failed


def _executable_error(edit: PropertyChange) -> DavError | None:
    if edit.is_removal:
        return DavError(409, "The 'executable' property cannot be removed.")
    prefix = "The 'executable' property expects a single character, valued 'T' or 'F'."
    if not edit.element.text and not edit.element.children:
        return DavError(409, f"{prefix} There was no value submitted.")
    if edit.element.children or edit.element.text not in ("T", "F"):
        return DavError(409, f"{prefix} The value submitted is invalid.")
    return None


def _success(edits: list[PropertyChange]) -> str:
    names = "".join(empty_element(edit.element) for edit in edits)
    return f"<D:propstat>\n<D:prop>\n{names}</D:prop>\n<D:status>HTTP/1.1 200 OK</D:status>\n</D:propstat>\n"


def _failures(edits: list[PropertyChange]) -> str:
    """Return a propstat for each property; those that could be changed failed because of the others."""
    dependent = {
        False: DavError(424, "Attempted DAV:set operation could not be completed due to other errors."),
        True: DavError(424, "Attempted DAV:remove operation could not be completed due to other errors."),
    }
    parts = []
    for edit in edits:
        if edit.error is None:
            edit.error = dependent[edit.is_removal]
        error = edit.error
        parts.append(
            f"<D:propstat>\n<D:prop>{empty_element(edit.element)}</D:prop>\n"
            f"<D:status>HTTP/1.1 {error.status} (status)</D:status>\n"
            f"<D:responsedescription>\n{error.description}</D:responsedescription>\n"
            "</D:propstat>\n"
        )
    return "".join(parts)

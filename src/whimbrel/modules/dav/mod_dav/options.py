"""OPTIONS of a resource: its methods and the features of its repository (RFC 4918, 10.1; RFC 3253, 8)."""

from __future__ import annotations

from typing import Final

from whimbrel.engine.request import Request
from whimbrel.modules.dav.mod_dav.errors import XML_TYPE, DavError
from whimbrel.modules.dav.mod_dav.multistatus import XML_HEADER
from whimbrel.modules.dav.mod_dav.properties import CORE, DAV_URI, LIVE_URIS
from whimbrel.modules.dav.mod_dav.provider import Resource
from whimbrel.modules.dav.mod_dav.settings import DavDirConfig
from whimbrel.modules.dav.mod_dav.state import ResourceState, locks_of, resource_of, state_of
from whimbrel.modules.dav.mod_dav.xml_document import XmlElement, read_document
from whimbrel.registry.phases import DONE, HookStatus

_BY_STATE: Final = {
    ResourceState.ERROR: (),
    ResourceState.EXISTS: (
        *("GET", "HEAD", "POST", "DELETE", "TRACE", "PROPFIND", "PROPPATCH", "COPY", "MOVE"),
        *("PUT", "LOCK", "UNLOCK"),
    ),
    ResourceState.LOCK_NULL: ("MKCOL", "PROPFIND", "PUT", "LOCK", "UNLOCK"),
    ResourceState.NULL: ("MKCOL", "PUT", "LOCK"),
}
# elements of the response about sets: their members' attributes
_METHODS = "supported-method-set"
_LIVE = "supported-live-property-set"
_REPORTS = "supported-report-set"


async def options(r: Request) -> HookStatus:
    """Respond with the methods, the classes of RFC 4918, and the sets that a body asks for."""
    resource = resource_of(r)
    document = await read_document(r)
    if document is not None and not document.has_root("options"):
        r.log("error", 'The "options" element was not found.', code="AH00584", module="dav")
        return 400
    has_locks = locks_of(r) is not None
    r.headers_out.set("DAV", "1,2" if has_locks else "1")
    provider = r.dir_config(DavDirConfig).provider
    for uri in getattr(provider, "property_sets", ()):
        r.headers_out.add("DAV", uri)
    r.headers_out.set("MS-Author-Via", "DAV")
    names = ["OPTIONS", *_BY_STATE[state_of(r, resource)]]
    if not has_locks:
        names = [name for name in names if name not in ("LOCK", "UNLOCK")]
    if resource.is_collection and "PUT" in names:
        names.remove("PUT")
    r.headers_out.set("Allow", ",".join(names))
    if document is None:
        r.headers_out.set("Content-Length", "0")
        return DONE
    parts = [_answer(r, resource, each, names) for each in document.root.children if each.namespace == 0]
    r.content_type = XML_TYPE
    r.write(f'{XML_HEADER}<D:options-response xmlns:D="DAV:">\n{"".join(parts)}</D:options-response>\n')
    return DONE


def _answer(r: Request, resource: Resource, element: XmlElement, methods: list[str]) -> str:
    if element.name == _METHODS:
        found = [f'<D:supported-method D:name="{name}"/>\n' for name in _chosen(element, methods)]
    elif element.name == _LIVE:
        names = {name: uri for uri, name in _live_names(r, resource)}
        found = [
            f'<D:supported-live-property D:name="{name}" D:namespace="{names[name]}"/>\n'
            for name in _chosen(element, list(names), names)
        ]
    elif element.name == _REPORTS:
        found = []
        _chosen(element, [])
    else:
        return ""
    return f"<D:{element.name}>\n{''.join(found)}</D:{element.name}>\n"


def _live_names(r: Request, resource: Resource) -> list[tuple[str, str]]:
    live = [(LIVE_URIS[prefix], name) for prefix, name, _value in resource.live_properties(r)]
    return [*live, *((DAV_URI, name) for name in CORE)]


def _chosen(element: XmlElement, known: list[str], uris: dict[str, str] | None = None) -> list[str]:
    """Return those of *known* that the members of *element* name, all if it has none; raise DavError."""
    if not element.children:
        return known
    member = element.name.removesuffix("-set")
    found = []
    for child in element.children:
        if child.namespace != 0 or child.name != member:
            continue
        name = child.dav_attribute("name")
        if name is None:
            text = f'A DAV:{member} element does not have a "name" attribute'
            raise DavError(400, text)
        uri = child.dav_attribute("namespace") or DAV_URI
        if name in known and (uris is None or uris[name] == uri):
            found.append(name)
    return found

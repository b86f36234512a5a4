"""The core's own records, read by the configuration reader, the walks and the engine.

The directives that set them are in modules/core/.  Manual: mod/core.html.
"""

from __future__ import annotations

from whimbrel.base.lazy_dataclasses import dataclass, replace
from whimbrel.base.static_typing import Any
from whimbrel.registry.settings import UNSET, appended, overlaid, setting

# Options, httpd's bits.
OPT_NONE = 0
OPT_INDEXES = 1
OPT_INCLUDES = 2
OPT_SYM_LINKS = 4
OPT_EXECCGI = 8
OPT_UNSET = 16
OPT_INC_WITH_EXEC = 32
OPT_SYM_OWNER = 64
OPT_MULTI = 128
_SSI = OPT_INCLUDES | OPT_INC_WITH_EXEC
OPT_ALL = OPT_INDEXES | OPT_INCLUDES | OPT_INC_WITH_EXEC | OPT_SYM_LINKS | OPT_EXECCGI


# FileETag, httpd's bits.
ETAG_NONE = 1
ETAG_MTIME = 2
ETAG_INODE = 4
ETAG_SIZE = 8
ETAG_DIGEST = 16


@dataclass(slots=True)
class Options:
    """Options as httpd stores them: a value, and what +/- arguments added and removed."""

    value: int = OPT_UNSET
    added: int = 0
    removed: int = 0

    def over(self, base: Options) -> Options:
        """Return these options merged on *base*: +/- arguments alone change it, others replace it.

        As in httpd's merge_core_dir_configs, the +/- arguments of outer sections hold again in a section
        without plain ones, even those before a plain argument that replaced them where they stand.
        """
        if self.value & OPT_UNSET:
            added = (base.added & ~self.removed) | self.added
            removed = (base.removed & ~self.added) | self.removed
            value = (base.value & ~removed) | added
            if base.value & _SSI == _SSI and self.value & _SSI == OPT_INCLUDES:
                value &= ~OPT_INC_WITH_EXEC  # +IncludesNOEXEC takes exec away from an outer Includes
            return Options(value, added, removed)
        return Options(self.value, self.added, self.removed)


def _options(base: Options, over: Options) -> Options:
    return over.over(base)


@dataclass(frozen=True, slots=True)
class EtagBits:
    """FileETag as httpd stores it: plain arguments, those with +, those with - (bits of ETAG_...)."""

    bits: int = 0
    added: int = 0
    removed: int = 0

    @property
    def value(self) -> int:
        """Return the result of the setting; 0 means the dialect's default, and ETAG_NONE no ETag."""
        return (self.bits & ~self.removed) | self.added

    def over(self, base: EtagBits) -> EtagBits:
        """Return this setting merged on *base*: plain arguments replace it, signed ones change it."""
        if self.bits:
            return self
        added = (base.added & ~self.removed) | self.added
        removed = (base.removed & ~self.added) | self.removed
        return EtagBits(_without_none((base.bits & ~removed) | added), added, removed)


def apply_signs(records: dict[type[Any], Any], over: dict[type[Any], Any], *, is_section: bool) -> None:
    """Apply + and - of FileETag and Options in *records*, of which *over* was merged last, even if *over*
    has neither line.

    httpd treats the result of a merge of FileETag as plain arguments, which replace those of outer sections.
    It merges Options where *over* has settings of the core: each section has them (*is_section*), a .htaccess
    file if a directive in it is one of the core.
    """
    core = records.get(CoreDirConfig)
    if core is None:
        return
    last = over.get(CoreDirConfig)
    if core.options is not UNSET and (is_section if last is None else last.options is UNSET):
        options = Options().over(core.options)
        if options != core.options:
            core = replace(core)
            records[CoreDirConfig] = core
            core.options = options
    if last is not None and isinstance(last.etag, EtagBits) and last.etag.bits:
        return
    if isinstance(core.etag, EtagBits):
        etag = core.etag
        bits = _without_none(etag.value)
        if bits != etag.bits:
            core = replace(core)
            records[CoreDirConfig] = core
            core.etag = EtagBits(bits, etag.added, etag.removed)


def _without_none(bits: int) -> int:
    """Return *bits* without ETAG_NONE, unless it stands alone."""
    return bits & ~ETAG_NONE if bits != ETAG_NONE else bits


def _etag(base: EtagBits, over: EtagBits) -> EtagBits:
    return over.over(base)


def merge_levels(base: dict[str, int], over: dict[str, int]) -> dict[str, int]:
    """Return a level for all modules ("") takes back what was set for single ones."""
    return over if "" in over else {**base, **over}


def _joined(base: dict[str, list[Any]], over: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {name: base.get(name, []) + over.get(name, []) for name in {**base, **over}}


@dataclass(slots=True)
class CoreDirConfig:
    """Per-directory settings of the core.  Paths and texts are as written; flags are bool."""

    options: Options = setting(merge=_options, make=Options)
    override: int = setting(-1)  # bits of Context; UNSET means the dialect's default
    override_options: int = setting(
        OPT_ALL | OPT_SYM_OWNER | OPT_MULTI
    )  # Options that AllowOverride Options=... admits
    override_list: frozenset[str] | None = setting(None)  # AllowOverrideList, lower case; None: not given
    nonfatal: int = setting(0)  # AllowOverride Nonfatal= bits
    files: list[Any] = setting(make=list, merge=appended)  # nested <Files> sections, in order
    ifs: list[Any] = setting(make=list, merge=appended)  # nested <If> sections, in order
    handler: str | None = setting(None)  # SetHandler; "" for `none`
    handler_expr: Any = setting(None)  # a request.expressions.Template
    forced_type: str | None = setting(None)  # ForceType (2.2: core); "none" is stored as written
    default_type: str | None = setting(None)
    missing_type_checker: str = setting(
        ""
    )  # an unimplemented directive of a .htaccess file that would determine types
    error_documents: dict[int, Any] = setting(make=dict, merge=overlaid)  # status -> ErrorDocument
    accept_path_info: int = setting(2)  # 0 Off, 1 On, 2 Default
    hostname_lookups: int = setting(0)  # 0 Off, 1 On, 2 Double
    content_md5: bool = setting(False)
    use_canonical_name: int = setting(0)  # 0 Off, 1 On, 2 DNS
    use_canonical_port: bool = setting(False)
    server_signature: int = setting(0)  # 0 Off, 1 On, 2 EMail
    add_default_charset: str | None = setting(None)  # None or Off: none; On: iso-8859-1
    etag: EtagBits = setting(merge=_etag, make=EtagBits)  # FileETag
    limit_body: int = setting(-1)  # LimitRequestBody; -1: default
    limit_xml_body: int = setting(1000000)
    enable_mmap: bool = setting(True)
    enable_sendfile: bool | None = setting(None)
    decode_slashes: bool = setting(False)  # AllowEncodedSlashes On; NoDecode sets encoded_slashes only
    encoded_slashes: bool = setting(False)
    slashes_of_host: bool = setting(False)  # the line of the two stands in a virtual host
    max_ranges: int = setting(200)  # -1: unlimited; 0: none
    max_overlaps: int = setting(20)
    max_reversals: int = setting(20)
    log_level: dict[str, int] = setting(make=dict, merge=merge_levels)  # module name or "" -> level number
    input_filters: str = setting("")  # SetInputFilter, as written
    output_filters: str = setting("")  # SetOutputFilter
    cgi_pass_auth: bool = setting(False)
    cgi_vars: dict[str, str] = setting(make=dict, merge=overlaid)
    qualify_redirect: bool = setting(False)
    satisfy: dict[int, str] = setting(make=dict, merge=overlaid)  # 2.2: method number -> any/all
    requires: list[Any] = setting(make=list)  # 2.2: Require lines (methods mask, text)
    auth_type: str | None = setting(None)  # 2.2: AuthType
    auth_name: str | None = setting(None)  # 2.2: AuthName
    limits: dict[str, tuple[str, str]] = setting(
        make=dict, merge=overlaid
    )  # RLimit...: resource -> (soft, hard), as written
    filters_by_type: dict[str, list[str]] = setting(
        make=dict, merge=overlaid
    )  # 2.2: AddOutputFilterByType, type -> filters
    read_buffer: int = setting(8192)  # ReadBufferSize


@dataclass(slots=True)
class CoreServerConfig:
    """Per-server settings of the core."""

    document_root: str = setting("")  # absolute; "" means the default under the server root
    access_names: list[str] = setting(make=lambda: [".htaccess"])
    error_log: str | None = setting(None)  # as written
    log_level: dict[str, int] = setting(make=dict, merge=merge_levels)
    error_log_format: list[Any] | None = setting(None)
    keep_alive: bool = setting(True)
    keep_alive_timeout: float = setting(5.0)  # seconds
    max_keep_alive: int = setting(100)
    timeout: float = setting(60.0)  # seconds; 2.2: 300
    limit_line: int = setting(8190)
    limit_field_size: int = setting(8190)
    limit_fields: int = setting(100)
    merge_slashes: bool = setting(True)
    trace_enable: int = setting(1)  # 0 off, 1 on, 2 extended
    strict_http: bool = setting(True)  # HttpProtocolOptions
    allow_http09: bool = setting(True)
    registered_methods: bool = setting(False)
    strict_host_check: bool = setting(False)
    max_redirects: int = setting(10)  # LimitInternalRecursion
    max_subrequests: int = setting(10)
    protocols: list[str] = setting(make=list)
    protocols_honor_order: bool = setting(True)
    server_tokens: str = setting("full")  # prod, major, minor, min, os, full
    admin: str = setting("[no address given]")
    protocol: str = setting("")  # Protocol
    accept_filters: dict[str, str] = setting(make=dict, merge=overlaid)
    merge_trailers: bool = setting(False)
    registered: list[str] = setting(make=list)  # RegisterHttpMethod
    error_log_formats: dict[str, list[list[Any]]] = setting(
        make=dict, merge=_joined
    )  # "request", "connection": additional lines

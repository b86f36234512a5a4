"""The limits and rules by which a server reads request heads, from its settings."""

from __future__ import annotations

from whimbrel.config.configuration import Configuration
from whimbrel.config.core_config import CoreServerConfig
from whimbrel.http.syntax.line_reader import HeadLimits, ParserOptions


def head_limits(server: CoreServerConfig) -> HeadLimits:
    """LimitRequestLine, LimitRequestFieldSize, LimitRequestFields."""
    return HeadLimits(line=server.limit_line, field_size=server.limit_field_size, fields=server.limit_fields)


def head_rules(server: CoreServerConfig, configuration: Configuration, scheme: str = "http") -> ParserOptions:
    """Return the parser options: HttpProtocolOptions, RegisterHttpMethod, and the dialect's.

    *scheme* is that of the server's URLs.
    """
    return ParserOptions(
        strict=server.strict_http,
        allow09=server.allow_http09,
        registered_methods=server.registered_methods,
        version22=configuration.dialect.wire_22,
        scheme=scheme,
        methods=frozenset(configuration.methods.known()) | {"HEAD"},
    )

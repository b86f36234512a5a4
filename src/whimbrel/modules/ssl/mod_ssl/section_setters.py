"""Setters of mod_ssl's directives that stand in sections, and in servers as well."""

from __future__ import annotations

from whimbrel.base.errors import ConfigError
from whimbrel.base.numbers import lower, strip
from whimbrel.base.static_typing import Final
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Setter
from whimbrel.directives.tokens import words as split_words
from whimbrel.modules.ssl.mod_ssl.settings import (
    EXPORT_CERT_DATA,
    FAKE_BASIC_AUTH,
    LEGACY_DN,
    OPT_RENEGOTIATE,
    STD_ENV_VARS,
    STRICT_REQUIRE,
    SslDirConfig,
    SslOptions,
    SslProxyDirConfig,
    SslRequirement,
    SslServerConfig,
    added,
)
from whimbrel.modules.ssl.mod_ssl.values import cipher_list, depth, is_in_section, verify_mode
from whimbrel.registry.settings import UNSET

_OPTIONS: Final = frozenset(
    {STD_ENV_VARS, EXPORT_CERT_DATA, FAKE_BASIC_AUTH, STRICT_REQUIRE, OPT_RENEGOTIATE}
)


def _record(cmd: Command) -> SslDirConfig | SslServerConfig:
    """Return the record that the directive is about: the section's or the server's."""
    server = cmd.server_config(SslServerConfig)
    if not is_in_section(cmd):
        return server
    server.verifies_in_sections = True
    return cmd.dir_config(SslDirConfig)


def set_ciphers(cmd: Command, _none: object, words: list[str]) -> None:
    """Set SSLCipherSuite."""
    field, text = cipher_list(cmd, words)
    if is_in_section(cmd) and field == "tls13_ciphers":
        raise ConfigError("TLSv1.3 ciphers cannot be set inside a directory context")
    setattr(_record(cmd), field, text)


def set_verify(cmd: Command, _none: object, words: list[str]) -> None:
    """Set SSLVerifyClient."""
    _record(cmd).verify = verify_mode(cmd, words[0])


def set_depth(cmd: Command, _none: object, words: list[str]) -> None:
    """Set SSLVerifyDepth."""
    _record(cmd).depth = depth(cmd, words[0])


def set_authorities(setter: Setter) -> Setter:
    """Return *setter* for SSLCACertificateFile or -Path; in a section 2.2 sets those of the server."""

    def apply(cmd: Command, _none: object, words: list[str]) -> None:
        setter(cmd, cmd.server_config(SslServerConfig), words)
        if is_in_section(cmd) and cmd.dialect.messages_24:
            raise ConfigError("Your SSL library does not have support for per-directory CA")

    return apply


def set_options(cmd: Command, record: SslDirConfig, words: list[str]) -> None:
    """Set SSLOptions."""
    options: SslOptions = SslOptions() if record.options is UNSET else record.options
    is_first = True
    for word in split_words(words[0]):
        sign, name = (word[0], word[1:]) if word[:1] in ("+", "-") else ("", word)
        option = lower(name)
        if option not in _OPTIONS and not (option == LEGACY_DN and cmd.dialect.keywords_24):
            raise ConfigError(f"SSLOptions: Illegal option '{name}'")
        if not sign and is_first:
            options = SslOptions(is_relative=False)
            is_first = False
        options = options.with_word(sign, option)
    record.options = options


def set_requires_tls(_cmd: Command, record: SslDirConfig, _words: list[str]) -> None:
    """Set SSLRequireSSL; arguments are ignored, as in httpd."""
    record.requires_tls = True


def add_requirement(cmd: Command, record: SslDirConfig, words: list[str]) -> None:
    """Add an SSLRequire."""
    from whimbrel.modules.ssl.mod_ssl import requirements  # imports the compiler of expressions

    text = strip(words[0])
    requirement = SslRequirement(text, requirements.compiled(cmd, text))
    record.requirements = added(record.requirements, requirement)


# connections to back ends -------------------------------------------------------------------------
def set_proxy_ciphers(cmd: Command, record: SslProxyDirConfig, words: list[str]) -> None:
    """Set SSLProxyCipherSuite."""
    field, text = cipher_list(cmd, words)
    setattr(record, field, text)

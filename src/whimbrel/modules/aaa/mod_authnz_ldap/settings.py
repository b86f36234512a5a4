"""Settings of mod_authnz_ldap. httpd does not merge them: a section with one of them has its own."""

from __future__ import annotations

from whimbrel.base.errors import ConfigError
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import lower
from whimbrel.base.programs import may_start_programs
from whimbrel.base.regex import Regex
from whimbrel.catalogue.checks.rules import split_args
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Setter
from whimbrel.modules.aaa.mod_authnz_ldap.url import LdapUrl, parse
from whimbrel.modules.ldap.mod_ldap import is_installed
from whimbrel.modules.ldap.mod_ldap.settings import SECURE
from whimbrel.modules.support.substitution import Substitution
from whimbrel.registry.settings import UNSET, Unmerged, setting

GROUP_ATTRIBUTES = ("member", "uniqueMember")
GROUP_CLASSES = ("groupOfNames", "groupOfUniqueNames")
_MAX_NAMES = 10


@dataclass(slots=True)
class AuthnzLdapDirConfig(Unmerged):
    """Per-directory settings."""

    url: LdapUrl | None = setting(None)
    secure: str | None = setting(None)  # None: as LDAPTrustedMode says
    bind_dn: str | None = setting(None)
    bind_password: str | None = setting(None)
    bind_authoritative: bool = setting(True)
    user_is_dn: bool = setting(False)
    user_attribute: str = setting("")
    compare_on_server: bool = setting(False)
    group_attributes: tuple[str, ...] = setting(GROUP_ATTRIBUTES)
    group_has_dn: bool = setting(True)
    subgroup_attributes: tuple[str, ...] = setting(GROUP_ATTRIBUTES)
    subgroup_classes: tuple[str, ...] = setting(GROUP_CLASSES)
    subgroup_depth: int = setting(10)
    dereference: str = setting("always")
    prefix: str = setting("AUTHORIZE_")
    binds_as_user: bool = setting(False)
    bind_pattern: tuple[Regex, Substitution] | None = setting(None)
    searches_as_user: bool = setting(False)
    compares_as_user: bool = setting(False)
    authoritative: bool = setting(True)  # 2.2


@dataclass(slots=True)
class AuthnzLdapServerConfig:
    """The main server's settings: is there an AuthLDAPURL; charsets by language, and their file."""

    is_used: bool = setting(False)
    charset_file: str = setting("")
    charsets: dict[str, str] = setting(make=dict)


def set_url(cmd: Command, record: AuthnzLdapDirConfig, words: list[str]) -> None:
    """AuthLDAPURL URL [MODE]: the hosts of a second URL stand before those of the first."""
    from dataclasses import replace

    if not cmd.in_htaccess:
        cmd.main_server(AuthnzLdapServerConfig).is_used = True
    elif not is_installed():
        from whimbrel.base.extras import not_installed

        raise ConfigError(not_installed("AuthLDAPURL", "ldap"))
    url = parse(words[0])
    before = record.url
    if before is not UNSET and before is not None:
        url = replace(url, uris=f"{url.uris} {before.uris}")
    record.url = url
    if len(words) > 1:
        record.secure = SECURE[lower(words[1])]
    if url.secure:
        record.secure = url.secure


def set_bind_password(cmd: Command, record: AuthnzLdapDirConfig, words: list[str]) -> None:
    """AuthLDAPBindPassword: the password, or ``exec:`` and the program that prints it."""
    text = words[0]
    if text.startswith("exec:") and len(text) > 5 and not cmd.dialect.contexts_22:
        text = _printed(cmd, text[5:])
    if not text and not cmd.dialect.contexts_22:
        raise ConfigError("Empty passwords are invalid for AuthLDAPBindPassword")
    record.bind_password = text


def _printed(cmd: Command, line: str) -> str:
    """Return the first line that the program of *line* prints (ap_get_exec_line)."""
    import subprocess

    from whimbrel.modules.support.programs_not_run import NOT_RUN, note_program

    arguments = split_args(line)
    if not arguments:
        raise ConfigError(f"Unable to parse exec arguments from {line}")
    if not may_start_programs():
        note_program(cmd, arguments[0])
        return NOT_RUN
    command = [to_bytes(word) for word in (cmd.server_path(arguments[0]), *arguments[1:])]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise ConfigError(f"Unable to get bind password from exec of {line}") from problem
    return to_text(done.stdout[:8192].partition(b"\n")[0])


def add_name(field: str, refused: str) -> Setter:
    """Return the setter that adds a name to *field*; *refused*: the message for too many."""

    def apply(_cmd: Command, record: AuthnzLdapDirConfig, words: list[str]) -> None:
        known = getattr(record, field)
        names = () if known is UNSET else known
        if len(names) > _MAX_NAMES:
            raise ConfigError(refused)
        setattr(record, field, (*names, words[0]))

    return apply


def set_bind_pattern(cmd: Command, record: AuthnzLdapDirConfig, words: list[str]) -> None:
    """AuthLDAPInitialBindPattern."""
    record.bind_pattern = cmd.regex(words[0]), Substitution(words[1], ampersand=cmd.dialect.contexts_22)

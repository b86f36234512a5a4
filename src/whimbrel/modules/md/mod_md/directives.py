"""The table of mod_md's directives."""

from __future__ import annotations

from whimbrel.base.static_typing import Any
from whimbrel.directives.spec import Args, ConfigScope, Context, Directive
from whimbrel.modules.md.mod_md.setters import (
    add_file,
    add_members,
    delay,
    flag,
    of_domains,
    of_server,
    open_section,
    set_authorities,
    set_binding,
    set_ca_file,
    set_challenges,
    set_check,
    set_dns01,
    set_dns01_version,
    set_domain,
    set_failover,
    set_keys,
    set_locks,
    set_match,
    set_port_map,
    set_proxy,
    set_proxy_ca_file,
    set_renew_mode,
    set_require_https,
    text,
    window,
)
from whimbrel.modules.support.setters import Setter

_NAMES = (
    "Define domain name(s) part of the Managed Domain. Use 'auto' or 'manual' to enable/disable auto "
    "adding names from virtual hosts."
)
_PORT_MAP = (
    "Declare the mapped ports 80 and 443 on the local server. E.g. 80:8000 to indicate that the server "
    "port 8000 is reachable as port 80 from the internet. Use 80:- to indicate that port 80 is not "
    "reachable from the outside."
)


def _row(name: str, args: Args, apply: Setter, text: str, more: Context = Context.NONE) -> Directive[Any]:
    return Directive(
        name=name,
        args=args,
        where=Context.RSRC_CONF | more,
        apply=apply,
        help=text,
        record=ConfigScope.SERVER,
    )


def rows() -> tuple[Directive[Any], ...]:
    """Return the directives in the order of httpd's table."""
    one, many = Args.TAKE1, Args.TAKE_ARGV
    return (
        _row(
            "MDCertificateAuthority",
            many,
            of_domains(set_authorities),
            "URL(s) or known name(s) of CA issuing the certificates",
        ),
        _row(
            "MDCertificateAgreement",
            one,
            of_domains(text("agreement")),
            "either 'accepted' or the URL of CA Terms-of-Service agreement you accept",
        ),
        _row("MDCAChallenges", many, of_domains(set_challenges), "A list of challenge types to be used."),
        _row(
            "MDCertificateProtocol",
            one,
            of_domains(text("protocol")),
            "Protocol used to obtain/renew certificates",
        ),
        _row(
            "MDContactEmail",
            one,
            of_domains(text("contact")),
            "Email address used for account registration",
        ),
        _row("MDDriveMode", one, of_domains(set_renew_mode), "deprecated, older name for MDRenewMode"),
        _row(
            "MDRenewMode",
            one,
            of_domains(set_renew_mode),
            "Controls how renewal of Managed Domain certificates shall be handled.",
        ),
        *_name_rows(),
        *_later_rows(),
    )


def _name_rows() -> tuple[Directive[Any], ...]:
    one, many, raw = Args.TAKE1, Args.TAKE_ARGV, Args.RAW_ARGS
    return (
        _row("MDomain", many, set_domain, "A group of server names with one certificate"),
        _row(
            "<MDomainSet",
            raw,
            open_section,
            "Container for a managed domain with common settings and certificate.",
        ),
        _row("<MDomain", raw, open_section, "Short form for <MDomainSet> container."),
        _row("MDMember", many, add_members, _NAMES),
        _row("MDMembers", many, add_members, _NAMES),
        _row(
            "MDMustStaple",
            one,
            of_domains(flag("must_staple")),
            "Enable/Disable the Must-Staple flag for new certificates.",
        ),
        _row("MDPortMap", Args.TAKE12, of_server(set_port_map), _PORT_MAP),
        _row(
            "MDPrivateKeys",
            many,
            of_domains(set_keys),
            "set the type and parameters for private key generation",
        ),
        _row(
            "MDHttpProxy",
            one,
            of_domains(set_proxy),
            "URL of a HTTP(S) proxy to use for outgoing connections",
        ),
        _row(
            "MDStoreDir",
            one,
            of_server(text("store_dir")),
            "the directory for file system storage of managed domain data.",
        ),
        _row(
            "MDRenewWindow",
            one,
            of_domains(window("MDRenewWindow", "renew_window")),
            "Time length for renewal before certificate expires (defaults to days).",
        ),
        _row(
            "MDRequireHttps",
            one,
            of_domains(set_require_https),
            "Redirect non-secure requests to the https: equivalent.",
            Context.OR_AUTHCFG,
        ),
        _row(
            "MDNotifyCmd",
            raw,
            of_server(text("notify_command")),
            "Set the command to run when signup/renew of domain is complete.",
        ),
    )


def _later_rows() -> tuple[Directive[Any], ...]:
    one, raw = Args.TAKE1, Args.RAW_ARGS
    return (
        _row(
            "MDBaseServer",
            one,
            of_server(flag("manages_main")),
            "Allow managing of base server outside virtual hosts.",
        ),
        _row("MDChallengeDns01", raw, set_dns01, "Set the command for setup/teardown of dns-01 challenges"),
        _row(
            "MDChallengeDns01Version",
            one,
            of_server(set_dns01_version),
            "Set the type of arguments to call `MDChallengeDns01` with",
        ),
        _row(
            "MDCertificateFile",
            one,
            add_file("certificate_files"),
            "set the static certificate (chain) file to use for this domain.",
        ),
        _row(
            "MDCertificateKeyFile",
            one,
            add_file("key_files"),
            "set the static private key file to use for this domain.",
        ),
        _row(
            "MDServerStatus",
            one,
            of_server(flag("server_status"), may_be_inside=True),
            "On to see Managed Domains in server-status.",
        ),
        _row(
            "MDCertificateStatus",
            one,
            of_server(flag("certificate_status"), may_be_inside=True),
            "On to see Managed Domain expose /.httpd/certificate-status.",
        ),
        _row(
            "MDWarnWindow",
            one,
            of_domains(window("MDWarnWindow", "warn_window")),
            "When less time remains for a certificate, send our/log a warning (defaults to days)",
        ),
        _row(
            "MDMessageCmd",
            raw,
            of_server(text("message_command")),
            "Set the command run when a message about a domain is issued.",
        ),
        *_stapling_rows(),
        *_last_rows(),
    )


def _stapling_rows() -> tuple[Directive[Any], ...]:
    one = Args.TAKE1
    return (
        _row(
            "MDStapling",
            one,
            of_domains(flag("stapling")),
            "Enable/Disable OCSP Stapling for this/all Managed Domain(s).",
        ),
        _row(
            "MDStapleOthers",
            one,
            of_domains(flag("staple_others")),
            "Enable/Disable OCSP Stapling for certificates not in Managed Domains.",
        ),
        _row(
            "MDStaplingKeepResponse",
            one,
            of_server(window("MDStaplingKeepResponse", "staple_keep", 2**63), may_be_inside=True),
            "The amount of time to keep an OCSP response in the store.",
        ),
        _row(
            "MDStaplingRenewWindow",
            one,
            of_server(window("MDStaplingRenewWindow", "staple_renew", too_much="with a"), may_be_inside=True),
            "Time length for renewal before OCSP responses expire (defaults to days).",
        ),
        _row(
            "MDCertificateCheck",
            Args.TAKE2,
            of_server(set_check, may_be_inside=True),
            "Set name and URL pattern for a certificate monitoring site.",
        ),
    )


def _last_rows() -> tuple[Directive[Any], ...]:
    one = Args.TAKE1
    return (
        _row(
            "MDActivationDelay",
            one,
            of_server(delay("activation_delay", None, "", "d")),
            "How long to delay activation of new certificates",
        ),
        _row(
            "MDCACertificateFile",
            one,
            of_domains(set_ca_file),
            "Set the CA file to use for connections",
        ),
        _row(
            "MDHttpProxyCACertificateFile",
            one,
            of_domains(set_proxy_ca_file),
            "Set the CA file to use for connections to the HTTP(S) proxy",
        ),
        _row(
            "MDExternalAccountBinding",
            Args.TAKE12,
            of_domains(set_binding),
            "Set the external account binding keyid and hmac values to use at CA",
        ),
        _row(
            "MDRetryDelay",
            one,
            of_server(delay("retry_delay", 0, "minimum delay must be greater than 0")),
            "Time length for first retry, doubled on every consecutive error.",
        ),
        _row(
            "MDRetryFailover",
            one,
            of_server(set_failover),
            "The number of errors before a failover to another CA is triggered.",
        ),
        _row("MDStoreLocks", one, of_server(set_locks), "Configure locking of store for updates."),
        _row(
            "MDMatchNames",
            one,
            of_server(set_match),
            "Determines how DNS names are matched to vhosts.",
        ),
        _row(
            "MDInitialDelay",
            one,
            of_server(delay("initial_delay", -0.0005, "initial delay must not be negative")),
            "How long to delay the first certificate check.",
        ),
        _row(
            "MDCheckInterval",
            one,
            of_server(delay("check_interval", 0.9995, "check interval cannot be less than one second")),
            "Time between certificate checks.",
        ),
        *_profile_rows(),
    )


def _profile_rows() -> tuple[Directive[Any], ...]:
    one = Args.TAKE1
    return (
        _row(
            "MDProfile",
            one,
            of_domains(text("profile")),
            "The name of an CA profile to order certificates for.",
        ),
        _row(
            "MDProfileMandatory",
            one,
            of_domains(flag("profile_mandatory")),
            "Determines if a configured CA profile is mandatory.",
        ),
        _row(
            "MDRenewViaARI",
            one,
            of_domains(flag("ari")),
            "Enable/Disable ACME ARI (RFC 9773) to trigger renewals.",
        ),
    )

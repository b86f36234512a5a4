"""Merging of settings, as ssl_engine_config.c merges them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.support.tls_site import TlsSite

from whimbrel.base.errors import ConfigError
from whimbrel.modules.ssl.mod_ssl.settings import SslOptions, SslProxyDirConfig, certificates_merged
from whimbrel.modules.ssl.mod_ssl.start import backend_settings, engine_of, section_settings


def options(*words: str) -> SslOptions:
    """Return the options of one line."""
    made = SslOptions() if words[0][0] in "+-" else SslOptions(is_relative=False)
    for word in words:
        sign = word[0] if word[0] in "+-" else ""
        made = made.with_word(sign, word.lstrip("+-"))
    return made


def test_options_with_signs_change_those_of_outer_sections() -> None:
    outer = options("+stdenvvars", "+exportcertdata")
    assert options("-exportcertdata").over(outer).options == {"stdenvvars"}
    assert options("+strictrequire").over(outer).options == {"stdenvvars", "exportcertdata", "strictrequire"}


def test_options_without_sign_replace_all_others_even_on_their_line() -> None:
    assert options("stdenvvars", "exportcertdata").options == {"exportcertdata"}
    assert options("fakebasicauth").over(options("+stdenvvars")).options == {"fakebasicauth"}


def test_certificates_of_a_host_replace_the_first_inherited_ones() -> None:
    assert certificates_merged(["a", "b"], ["x"]) == ["x", "b"]
    assert certificates_merged(["a"], ["w", "x", "y", "z"]) == ["w", "x", "y", "z"]
    assert certificates_merged(["a", "b", "c", "d"], ["x"]) == ["x", "b", "c", "d"]


@pytest.mark.parametrize(("version", "engine"), [("2.2", "off"), ("2.4", "off")])
def test_engine_off_by_default(tmp_path: Path, version: str, engine: str) -> None:
    site = TlsSite(tmp_path, "", version)
    assert engine_of(site.engine.configuration, site.engine.main) == engine


def test_proxy_sections_lie_over_the_server(tmp_path: Path) -> None:
    conf = "SSLProxyVerifyDepth 4\nSSLProxyCheckPeerCN Off\n<Proxy https://a/>\nSSLProxyEngine On\n</Proxy>\n"
    site = TlsSite(tmp_path, conf, more="proxy")
    base = backend_settings(site.engine.main)
    (section,) = section_settings(site.engine.main)
    assert (base.engine, base.depth, base.check_cn) == (False, 4, False)
    assert (section.engine, section.depth, section.check_cn, section.check_name) == (True, 4, False, None)
    assert isinstance(section, SslProxyDirConfig)


@pytest.mark.parametrize(
    ("words", "overriding"),
    [
        ("TLSv1 TLSv1.1 TLSv1.2", ["TLSv1.1", "TLSv1.2"]),
        ("-all TLSv1.2", []),
        ("all -SSLv3 TLSv1.2", ["TLSv1.2"]),
    ],
)
def test_protocols_that_override_others(tmp_path: Path, words: str, overriding: list[str]) -> None:
    site = TlsSite(tmp_path, f"SSLProtocol {words}\n")
    texts = [message.text for message in site.engine.configuration.messages if message.code == "AH02532"]
    assert [re.findall("'(.*)'", text)[0] for text in texts] == overriding


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("SSLOpenSSLConfCmd x y", "'x': invalid OpenSSL configuration command"),
        ("SSLOpenSSLConfCmd ClientCAPath /nosuch", "SSLOpenSSLConfCmd: directory '/nosuch' does not exist"),
        ("SSLCARevocationPath /nosuch//", "SSLCARevocationPath: directory '/nosuch/' does not exist"),
        ("SSLCACertificatePath //a//b//", "SSLCACertificatePath: directory '/a/b/' does not exist"),
        ("SSLOCSPProxyURL http://x:y", "SSLOCSPProxyURL: Cannot parse URL http://x:y"),
        ("SSLOCSPProxyURL 80:", "SSLOCSPProxyURL: Cannot parse URL 80:"),
        ("SSLOptions +Bogus", "SSLOptions: Illegal option 'Bogus'"),
        ("SSLVerifyClient maybe", "SSLVerifyClient: Invalid argument 'maybe'"),
        ("SSLProtocol TLSv1.4", "SSLProtocol: Illegal protocol 'TLSv1.4'"),
        ("SSLProtocol SSLv3", "SSLv3 not supported by this version of OpenSSL"),
        ("SSLRandomSeed never builtin", "SSLRandomSeed: invalid context: `never'"),
        ("SSLCipherSuite TLSv1.4 x", "protocol 'TLSv1.4' not supported"),
        ("SSLPassPhraseDialog bogus", "SSLPassPhraseDialog: Invalid argument"),
        ("SSLCARevocationCheck maybe", "SSLCARevocationCheck: Invalid argument 'maybe'"),
        ("SSLOpenSSLConfCmd Bogus x", "'Bogus': invalid OpenSSL configuration command"),
        ("SSLLog x", "SSLLog directive is no longer supported - use ErrorLog."),
    ],
)
def test_recorded_refusals(tmp_path: Path, line: str, reason: str) -> None:
    with pytest.raises(ConfigError) as caught:
        TlsSite(tmp_path, f"{line}\n")
    assert caught.value.reason == reason

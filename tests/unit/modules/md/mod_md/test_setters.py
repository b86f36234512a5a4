"""Directives: contexts and messages of apache2 -t 2.4.71."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.site import Site, load_module_lines

from whimbrel.base.errors import ConfigError
from whimbrel.modules.md.mod_md.settings import RENEW_MANUAL, MdGlobalConfig

SECTION, DIRECTORY, LOCATION, HOST = (
    "<MDomain q.test>\n{}\n</MDomain>\n",
    "<Directory /tmp>\n{}\n</Directory>\n",
    "<Location /x>\n{}\n</Location>\n",
    "<VirtualHost *:1>\n{}\n</VirtualHost>\n",
)
MAIN = "{}\n"
INSIDE = "is not allowed inside an '<MDomainSet' context"
ONLY_INSIDE = "is only valid inside a '<MDomainSet' context, not here"


def read(root: Path, text: str) -> MdGlobalConfig:
    conf = load_module_lines(["mpm_event", "authz_core", "md"]) + "ServerName a\n" + text
    site = Site(root, conf)
    loaded = site.load()
    found: MdGlobalConfig = loaded.main.config(MdGlobalConfig)
    return found


@pytest.mark.parametrize(
    ("line", "where", "said"),
    [
        ("MDHttpProxy http://x/", SECTION, ""),
        ("MDCACertificateFile none", SECTION, ""),
        ("MDHttpProxyCACertificateFile none", SECTION, ""),
        ("MDStoreDir x", SECTION, f"MDStoreDir {INSIDE}"),
        ("MDPortMap 80:1", SECTION, f"MDPortMap {INSIDE}"),
        ("MDServerStatus on", SECTION, ""),
        ("MDRetryDelay 5", SECTION, f"MDRetryDelay {INSIDE}"),
        ("MDMatchNames all", SECTION, f"MDMatchNames {INSIDE}"),
        ("MDomain x", SECTION, f"MDomain {INSIDE}"),
        ("MDInitialDelay 5", SECTION, f"MDInitialDelay {INSIDE}"),
        ("MDStapleOthers on", SECTION, ""),
        ("MDCertificateCheck a b", SECTION, ""),
        ("MDChallengeDns01Version 1", SECTION, f"MDChallengeDns01Version {INSIDE}"),
        ("MDRequireHttps temporary", DIRECTORY, "MDRequireHttps cannot occur within <Directory> section"),
        ("MDStoreDir x", DIRECTORY, "MDStoreDir not allowed in <Directory> context"),
        ("MDHttpProxy http://x", LOCATION, "MDHttpProxy not allowed in <Location> context"),
        ("MDRenewWindow 5", LOCATION, "MDRenewWindow not allowed in <Location> context"),
        ("MDRetryDelay 0", MAIN, "minimum delay must be greater than 0"),
        ("MDActivationDelay -5", MAIN, ""),
        ("MDInitialDelay -1", MAIN, "initial delay must not be negative"),
        ("MDCheckInterval 999ms", MAIN, "check interval cannot be less than one second"),
        ("MDCheckInterval 1s", MAIN, ""),
        ("MDRenewMode automatic", MAIN, ""),
        ("MDRenewMode x", MAIN, "unknown MDDriveMode x"),
        ("MDomain auto", MAIN, "needs at least one domain name"),
        ("MDomain", MAIN, "needs at least one domain name"),
        ("<MDomain>\n</MDomain>", MAIN, "<MDomainSet > section must specify a unique domain name"),
        ("<MDomain a b\n</MDomain>", MAIN, "<MDomainSet> directive missing closing '>'"),
        ("<MDomain auto>\n</MDomain>", MAIN, ""),
        ("<MDomain b.test>\n</MDomain>", SECTION, f"<MDomain {INSIDE}"),
        ("MDCAChallenges foo", MAIN, ""),
        ("MDCAChallenges", MAIN, ""),
        ("MDPrivateKeys", MAIN, "needs to specify the private key type"),
        ("MDMembers", MAIN, f"MDMembers {ONLY_INSIDE}"),
        ("MDMembers x", MAIN, 'unknown value, use "auto|manual"'),
        ("MDMember a b", MAIN, f"MDMember {ONLY_INSIDE}"),
        ("MDCertificateFile a", MAIN, f"MDCertificateFile {ONLY_INSIDE}"),
        ("MDStoreLocks 5x", MAIN, "neither 'on', 'off' or a duration specified"),
        ("MDMembers manual", HOST, ""),
        ("MDStoreDir foo", HOST, ""),
        ("MDBaseServer on", HOST, ""),
        ("MDBaseServer x", MAIN, "unknown 'x', supported parameter values are 'on' and 'off'"),
        ("MDMatchNames x", MAIN, "invalid argument, must be a 'all' or 'servernames'"),
        ("MDRetryFailover 0", MAIN, "invalid argument, must be a number > 0"),
        ("MDChallengeDns01Version 3", MAIN, "Only versions `1` and `2` are supported"),
        (
            "MDRequireHttps on",
            MAIN,
            "unknown 'on', supported parameter values are 'temporary' and 'permanent'",
        ),
    ],
)
def test_what_the_server_says(tmp_path: Path, line: str, where: str, said: str) -> None:
    try:
        read(tmp_path, where.format(line))
    except ConfigError as problem:
        assert problem.reason == said
    else:
        assert said == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"kid": "x"}', "MDExternalAccountBinding: JSON does not contain 'hmac' element in file {}"),
        ("[]", "MDExternalAccountBinding: JSON does not contain 'kid' element in file {}"),
        ("{", "MDExternalAccountBinding: error reading JSON file {}"),
        (None, "MDExternalAccountBinding: file not found: {}"),
    ],
)
def test_files_of_bindings(tmp_path: Path, text: str | None, said: str) -> None:
    file = tmp_path / "eab.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, f"MDExternalAccountBinding {file}\n")
    assert caught.value.reason == said.format(file)


def test_properties_of_one_domain(tmp_path: Path) -> None:
    (tmp_path / "eab.json").write_text(json.dumps({"kid": "k", "hmac": "h"}))
    conf = read(
        tmp_path,
        "MDRenewMode always\n<MDomainSet A.test b.test manual>\nMDMember c.test B.TEST\nMDRenewMode manual\n"
        "MDExternalAccountBinding eab.json\nMDPrivateKeys secp384r1 rsa 4096\nMDChallengeDns01 /bin/x  y\n"
        "</MDomainSet>\nMDomain d.test\nMDPortMap http:- 443:8443\nMDStoreLocks on\n",
    )
    first, second = conf.definitions
    assert (first.names, second.names) == (["a.test", "b.test", "c.test"], ["d.test"])
    assert first.own.renew_mode == RENEW_MANUAL and first.own.members_auto is False
    assert first.own.binding == ("k", "h") and first.own.dns01 == "/bin/x  y"
    assert [spec.description for spec in first.own.keys] == ["ec-secp384r1", "rsa-4096"]
    assert (conf.local_80, conf.local_443, conf.lock_wait) == (0, 8443, 5.0)

"""Directives of mod_fcgid: messages of mod_fcgid 2.3.9 under apache2 2.4.71."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.engine import build_engine

from whimbrel.base.errors import ConfigError
from whimbrel.modules.fcgid.mod_fcgid.bridge import wrapper_of
from whimbrel.modules.fcgid.mod_fcgid.settings import FcgidCommand, FcgidServerConfig

LOAD = "LoadModule fcgid_module modules/mod_fcgid.so\n"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("FcgidWrapper /none .php", "Wrapper /none cannot be accessed: (2)No such file or directory"),
        ("FcgidWrapper /bin/ls php", "Invalid wrapper file extension"),
        ("FcgidWrapper /bin/ls .php x", "Invalid wrapper flag"),
        ("FcgidCmdOptions", "A command must be specified for FcgidCmdOptions"),
        ("FcgidCmdOptions /bin/ls", "At least one option must be specified for FcgidCmdOptions"),
        ("FcgidCmdOptions /bin/ls x", "Invalid option for FcgidCmdOptions: x"),
        ("FcgidCmdOptions /bin/ls IOTimeout", "IOTimeout must have an argument"),
        ("IPCCommTimeout 0", "FcgidIOTimeout must be greater than 0"),
        ("FcgidAuthenticator /none", "Authenticator /none cannot be accessed: (2)No such file or directory"),
        ("FcgidMaxRequestLen abc", "FcgidMaxRequestLen requires a non-negative integer."),
        (
            "<VirtualHost *:1>\nFcgidMaxProcesses 1\n</VirtualHost>",
            "FcgidMaxProcesses cannot occur within <VirtualHost> section",
        ),
    ],
)
def test_refusals(line: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        build_engine(tmp_path, LOAD + line)
    assert message in str(caught.value)


def test_former_names_set_the_same(tmp_path: Path) -> None:
    text = "MaxRequestLen 5\nIPCConnectTimeout 7\nDefaultInitEnv A b\nFcgidInitialEnv C\n"
    conf = build_engine(tmp_path, LOAD + text).main.config(FcgidServerConfig)
    assert (conf.max_request, conf.connect_timeout, conf.environment) == (5, 7, {"A": "b", "C": ""})
    defaults = build_engine(tmp_path, LOAD).main.config(FcgidServerConfig)
    assert (defaults.max_request, defaults.io_timeout, defaults.least, defaults.most) == (131072, 40, 3, 100)


def test_the_wrapper_of_a_suffix_is_preferred() -> None:
    php, every = FcgidCommand(("a",), (1, 1)), FcgidCommand(("b",), (1, 2))
    assert wrapper_of({".php": php, "": every}, "/x/y.php") is php
    assert wrapper_of({".php": php, "": every}, "/x/y") is every
    assert wrapper_of({".php": php}, "/x/y.fcgi") is None

"""git-http-backend as a CGI program of another server, behind ProxyPass."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.differential.servers import APACHE, WHIMBREL, Program
from tests.differential.stock_site import StockServer, write_documents
from tests.support.git import BACKEND, NOISE, make_repository, push_and_clone

pytestmark = [
    pytest.mark.skipif(not APACHE.present, reason="no /etc/apache2 to copy: apache2 is not installed"),
    pytest.mark.skipif(not BACKEND.exists(), reason="git is not installed"),
]
CONF = """
ScriptAlias /git/ {backend}/
SetEnv GIT_PROJECT_ROOT {base}/repositories
SetEnv GIT_HTTP_EXPORT_ALL 1
SetEnv REMOTE_USER knot
SetEnv GIT_CONFIG_COUNT 1
SetEnv GIT_CONFIG_KEY_0 safe.directory
SetEnv GIT_CONFIG_VALUE_0 *
<Directory /usr/lib/git-core>
  Options +ExecCGI
  Require all granted
</Directory>
"""


@pytest.mark.parametrize("program", [APACHE, WHIMBREL], ids=lambda program: program.name)
def test_clone_and_push(program: Program) -> None:
    with TemporaryDirectory(prefix="git-") as name:
        base = Path(name)
        write_documents(base)
        make_repository(base)
        conf = CONF.format(base=base, backend=BACKEND)
        with StockServer(program, base, conf, modules=["cgid"]) as back:
            assert back.started, back.output
            proxying = f"ProxyPass /code/ http://127.0.0.1:{back.port}/git/\n"
            with StockServer(WHIMBREL, base, proxying, modules=["proxy", "proxy_http"]) as front:
                assert front.started, front.output
                url = f"http://127.0.0.1:{front.port}/code/waders.git"
                assert push_and_clone(url, base) == NOISE

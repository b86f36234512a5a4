"""JkMount lines and mod_jk's file of workers."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.upgrade.config_trees import config_tree

from whimbrel.upgrade.rules.modules.r15_jk_mounts import check
from whimbrel.upgrade.rules.modules.workers_file import MAX_FILE, parse_workers, read_workers

WORKERS = """# the servers of mod_jk
workers.tomcat_home=/opt/tomcat
worker.list=app,pool,status
worker.app.type=ajp13
worker.app.host=app.example.org
worker.app.port : 8109
worker.six.host=2001:db8::1
worker.template.port=8200
worker.made.reference=worker.template
worker.made.host=made.example.org
worker.pool.type=lb
worker.pool.balance_workers=app, \\
  made
worker.loop.type=lb
worker.loop.balance_workers=loop
worker.status.type=status
"""
POOL = (
    '<Proxy "balancer://pool">; BalancerMember "ajp://app.example.org:8109" route=app; '
    'BalancerMember "ajp://made.example.org:8200" route=made; ProxySet stickysession=JSESSIONID|jsessionid; '
    '</Proxy>; ProxyPass "/p/" "balancer://pool/p/"'
)


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        ("JkMount /app/* app", 'write: ProxyPass "/app/" "ajp://app.example.org:8109/app/"'),
        ("JkMount /* app", 'write: ProxyPass "/" "ajp://app.example.org:8109/"'),
        ("JkMount /app|/* app", 'write: ProxyPass "/app" "ajp://app.example.org:8109/app"'),
        ("JkMount /app app", "write: ProxyPassMatch ^/app$ ajp://app.example.org:8109"),
        (r"JkMount /*.jsp app", r'write: ProxyPassMatch "^/.*\.jsp$" ajp://app.example.org:8109'),
        ("JkMount /app/* six", 'write: ProxyPass "/app/" "ajp://[2001:db8::1]:8009/app/"'),
        ("JkMount /app/* made", 'write: ProxyPass "/app/" "ajp://made.example.org:8200/app/"'),
        ("JkMount /p/* pool", f"write: {POOL}"),
        ("JkUnMount /app/static/* app", 'write: ProxyPass "/app/static/" "!"'),
        (
            "JkMount /app/* none",
            "write a ProxyPass line for mod_proxy_ajp: no file of JkWorkersFile that is here has the worker "
            "none",
        ),
        (
            "JkMount /s status",
            "write a ProxyPass line for mod_proxy_ajp: the worker status is of the type status",
        ),
    ],
)
def test_the_proposed_lines(tmp_path: Path, line: str, advice: str) -> None:
    text = f"JkWorkersFile conf/workers.properties\n{line}\n"
    tree = config_tree(tmp_path, {"conf/httpd.conf": text, "conf/workers.properties": WORKERS})
    (finding,) = check(tree)
    assert finding.advice == f"{advice}; or install mod_jk for 2.4"
    assert bool(finding.edits) == advice.startswith("write: ")


def test_workers_that_refer_to_themselves_end() -> None:
    depth, worker = 0, parse_workers(WORKERS)["loop"]
    while worker.members:
        depth, worker = depth + 1, worker.members[0]
    assert depth < 10


def test_a_file_that_is_not_here_has_no_workers(tmp_path: Path) -> None:
    assert read_workers(str(tmp_path / "none")) == {}
    (tmp_path / "pipe").mkdir()
    assert read_workers(str(tmp_path / "pipe")) == {}


def test_a_file_is_read_up_to_its_bound(tmp_path: Path) -> None:
    path = tmp_path / "workers.properties"
    path.write_text("worker.a.host=b\n" + "#" * MAX_FILE)
    assert read_workers(str(path)) == {}

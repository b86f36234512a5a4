"""testssl.sh finds nothing in a server with TLS that it does not find in apache2 with the same settings."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.hostile.measure import Budget, Measure, Result
from tests.hostile.server import APACHE, WHIMBREL, Program, ServerProcess
from tests.hostile.tls_site import tls_site

SCANNER = "testssl"
SEVERITIES = ("OK", "INFO", "LOW", "MEDIUM", "HIGH", "CRITICAL")
# findings about the scan, the time, and the Server field
IGNORED = (
    "scanTime",
    "engine_problem",
    "HTTP_clock_skew",
    "HTTP_headerTime",
    "banner_server",
    "TLS_timestamp",
)
SETTINGS = {
    "default": "",
    "modern": "SSLProtocol -all +TLSv1.2 +TLSv1.3\nSSLHonorCipherOrder on\n"
    "SSLCipherSuite ECDHE+AESGCM:ECDHE+CHACHA20\nSSLSessionTickets off\n",
    "client certificates": "<Location /secure>\nSSLVerifyClient require\nSSLVerifyDepth 2\n</Location>\n",
}
Findings = dict[str, tuple[str, str]]


def scan(program: Program, conf: str) -> Findings:
    """Return severity and text of each finding by its id."""
    with ServerProcess(program, tls_site(conf)) as server, TemporaryDirectory() as folder:
        path = Path(folder) / "findings.json"
        words = ["--quiet", "--color", "0", "--warnings", "off", "--jsonfile", str(path)]
        subprocess.run(
            [SCANNER, *words, f"127.0.0.1:{server.port}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=600,
            check=False,
        )
        rows = json.loads(path.read_text())
    return {row["id"]: (row["severity"], row["finding"]) for row in rows if row["id"] not in IGNORED}


def weight(severity: str) -> int:
    """Return the place of a severity; WARN means that the scanner was not sure."""
    return SEVERITIES.index(severity) if severity in SEVERITIES else 0


def worse(mine: Findings, other: Findings) -> list[str]:
    """Return the findings of *mine* that are more severe than in *other*, or that *other* lacks."""
    lines = []
    for name, (severity, text) in mine.items():
        known = other.get(name, ("OK", ""))
        if weight(severity) > max(weight(known[0]), SEVERITIES.index("INFO")):
            lines.append(f"{name}: {severity} {text}; apache2: {' '.join(known)}")
    return lines


def run(budget: Budget) -> Result:
    """Scan both servers under each of the settings."""
    result = Result()
    if shutil.which(SCANNER) is None or not APACHE.is_present:
        result.skipped = f"{SCANNER} or apache2 is not installed"
        return result
    for name, conf in list(SETTINGS.items())[: budget.cases]:
        mine, other = scan(WHIMBREL, conf), scan(APACHE, conf)
        same = sum(other.get(key) == value for key, value in mine.items())
        result.figures[f"{name}: findings"] = len(mine)
        result.figures[f"{name}: same as apache2"] = same
        result.failures += [f"{name}: {line}" for line in worse(mine, other)]
        result.failures += [f"{name}: {key} missing" for key in other if key not in mine]
        result.figures[f"{name}: other text"] = ", ".join(
            f"{key} {value[0]}" for key, value in mine.items() if other.get(key) != value
        )
    return result


MEASURES = (
    Measure(
        "tls-scan",
        "testssl.sh finds nothing that it does not find in apache2 with the same settings.",
        run,
        len(SETTINGS),
        1200,
    ),
)

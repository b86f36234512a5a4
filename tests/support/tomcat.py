"""Debian's Tomcat 10 with a directory and an AJP connector of its own on the loopback."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Self

from whimbrel.testing.ports import free_port

HOME = Path("/usr/share/tomcat10")
START_SECONDS = 60  # a limit; a start takes about 5 seconds of an idle machine
_SERVER = """
<Server port="-1" shutdown="X">
  <Service name="Catalina">
    <Connector protocol="AJP/1.3" address="127.0.0.1" port="{port}" secretRequired="false"/>
    <Engine name="Catalina" defaultHost="localhost" jvmRoute="knot">
      <Host name="localhost" appBase="webapps" autoDeploy="false">
        <Context path="/app" docBase="app"/>
      </Host>
    </Engine>
  </Service>
</Server>
"""
_DESCRIPTION = """
<web-app xmlns="https://jakarta.ee/xml/ns/jakartaee" version="6.0" metadata-complete="true">
  <servlet>
    <servlet-name>jsp</servlet-name>
    <servlet-class>org.apache.jasper.servlet.JspServlet</servlet-class>
  </servlet>
  <servlet-mapping>
    <servlet-name>jsp</servlet-name>
    <url-pattern>*.jsp</url-pattern>
  </servlet-mapping>
</web-app>
"""


class Tomcat:
    """A Tomcat process; a context manager.  `port` is that of AJP; *pages* are the files below ``/app/``."""

    def __init__(self, base: Path, pages: dict[str, str]) -> None:
        self.base, self.port = base / "tomcat", free_port()
        texts = {
            "conf/server.xml": _SERVER.format(port=self.port),
            "webapps/app/WEB-INF/web.xml": _DESCRIPTION,
            **{f"webapps/app/{name}": text for name, text in pages.items()},
        }
        for name, text in texts.items():
            path = self.base / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        for name in ("logs", "temp", "work"):
            (self.base / name).mkdir()

    @staticmethod
    def is_installed() -> bool:
        """Return True if Tomcat and a Java are there."""
        return (HOME / "bin/bootstrap.jar").exists() and shutil.which("java") is not None

    def __enter__(self) -> Self:
        settings = {
            "catalina.home": HOME,
            "catalina.base": self.base,
            "java.io.tmpdir": self.base / "temp",
            "tomcat.util.scan.StandardJarScanFilter.jarsToSkip": "*",
        }
        command = ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m", "-Xshare:auto"]
        command += [f"-D{name}={value}" for name, value in settings.items()]
        command += ["-cp", f"{HOME}/bin/bootstrap.jar:{HOME}/bin/tomcat-juli.jar"]
        command += ["org.apache.catalina.startup.Bootstrap", "start"]
        output = self.base / "output"
        with output.open("wb") as sink:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink, start_new_session=True
            )
        end = time.monotonic() + START_SECONDS
        while "Server startup in" not in (text := output.read_text("latin-1")):
            assert self.process.poll() is None and time.monotonic() < end, text
            time.sleep(0.05)
        return self

    def __exit__(self, *_problem: object) -> None:
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(5)

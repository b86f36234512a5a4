"""Django's admin, run by mod_wsgi, in Chromium: login, upload, static files."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.conftest import ServerProcess, server  # noqa: F401 - a fixture
from tests.support.browser import Browser
from tests.support.webdriver import CHROMIUM, DRIVER, Chromium

PYTHON = Path("/usr/bin/python3")
DJANGO = importlib.util.find_spec("django")
pytestmark = [
    pytest.mark.skipif(DJANGO is None, reason="the package django is not installed"),
    pytest.mark.skipif(not PYTHON.exists(), reason="no /usr/bin/python3 that the server's user may run"),
]
SETTINGS = """
import os
BASE = os.path.dirname(os.path.abspath(__file__))
SECRET_KEY = "x" * 50
ALLOWED_HOSTS = ["127.0.0.1"]
ROOT_URLCONF = "shop.urls"
INSTALLED_APPS = ["django.contrib." + name for name in ("admin", "auth", "contenttypes", "sessions",
    "messages", "staticfiles")] + ["shop"]
MIDDLEWARE = ["django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware", "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware"]
TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True,
    "OPTIONS": {"context_processors": ["django.template.context_processors." + "request",
    "django.contrib.auth.context_processors.auth", "django.contrib.messages.context_processors.messages"]}}]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": BASE + "/db/site.sqlite3"}}
STATIC_URL = "/static/"
STATIC_ROOT = BASE + "/static"
MEDIA_ROOT = BASE + "/db"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
"""
FILES = {
    "__init__.py": "",
    "settings.py": SETTINGS,
    "urls.py": (
        "from django.contrib import admin\nfrom django.urls import path\n"
        'urlpatterns = [path("admin/", admin.site.urls)]\n'
    ),
    "models.py": (
        "from django.db import models\nclass Document(models.Model):\n"
        "    title = models.CharField(max_length=40)\n    file = models.FileField()\n"
        "    def __str__(self):\n        return '%s of %d bytes' % (self.title, self.file.size)\n"
    ),
    "admin.py": (
        "from django.contrib import admin\nfrom .models import Document\nadmin.site.register(Document)\n"
    ),
    "wsgi.py": (
        'import os\nos.environ["DJANGO_SETTINGS_MODULE"] = "shop.settings"\n'
        "from django.core.wsgi import get_wsgi_application\napplication = get_wsgi_application()\n"
    ),
}
CONF = """
LoadModule wsgi_module m/mod_wsgi.so
LogLevel info
WSGIPythonHome /usr
WSGIDaemonProcess shop processes=2 threads=4 python-path={root}:{packages}
WSGIScriptAlias / {root}/shop/wsgi.py process-group=shop application-group=%{{GLOBAL}}
Alias /static {root}/shop/static
<Directory {root}/shop>
    Require all granted
</Directory>
"""
PASSWORD = "curlew and whimbrel"


@pytest.fixture
def site(server: ServerProcess) -> Iterator[ServerProcess]:  # noqa: F811
    """Yield a server with the site, whose administrator is admin."""
    assert DJANGO is not None
    assert DJANGO.origin is not None
    packages = Path(DJANGO.origin).parent.parent
    directory = server.root / "shop"
    (directory / "db").mkdir(parents=True)
    (directory / "db").chmod(0o777)
    for name, text in FILES.items():
        (directory / name).write_text(text)
    environment = {
        **os.environ,
        "PYTHONPATH": f"{server.root}:{packages}",
        "DJANGO_SETTINGS_MODULE": "shop.settings",
        "DJANGO_SUPERUSER_PASSWORD": PASSWORD,
    }
    for words in (
        "migrate --run-syncdb --verbosity 0",
        "createsuperuser --noinput --username admin --email a@example.org --verbosity 0",
        "collectstatic --noinput --verbosity 0",
    ):
        command = [str(PYTHON), "-m", "django", *words.split()]
        subprocess.run(command, env=environment, check=True, cwd=server.root)
    (directory / "db/site.sqlite3").chmod(0o666)
    (server.root / "conf/extra.conf").write_text(CONF.format(root=server.root, packages=packages))
    server.start()
    yield server


def test_the_admin_in_a_client_without_scripts(site: ServerProcess) -> None:
    browser = Browser(site.port)
    page = browser.get("/admin/")
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
    assert token is not None
    fields = {"username": "admin", "password": PASSWORD, "next": "/admin/"}
    assert "Site administration" in browser.post("/admin/login/", {**fields, "csrfmiddlewaretoken": token[1]})
    for _ in range(5):  # the later ones are prepared, and on a connection that was kept
        assert "Add document" in browser.get("/admin/shop/document/")
    assert browser.status("/admin/shop/nothing/") == 404
    assert browser.get("/static/admin/css/base.css").startswith("/*")


@pytest.mark.skipif(CHROMIUM is None or DRIVER is None, reason="no Chromium with chromedriver")
def test_the_admin_in_chromium(site: ServerProcess, tmp_path: Path) -> None:
    upload = tmp_path / "upload.bin"
    upload.write_bytes(os.urandom(3_000_000))
    with Chromium(tmp_path) as chromium:
        chromium.open(f"http://127.0.0.1:{site.port}/admin/")
        chromium.write("//input[@name='username']", "admin")
        chromium.write("//input[@name='password']", PASSWORD)
        chromium.follow("//input[@type='submit']")
        assert "Site administration" in chromium.text()
        # the style sheet of the admin applies, so static files arrive
        color = chromium.script("return getComputedStyle(document.getElementById('header')).backgroundColor")
        assert color not in ("", "rgba(0, 0, 0, 0)")
        chromium.open(f"http://127.0.0.1:{site.port}/admin/shop/document/add/")
        chromium.write("//input[@name='title']", "curlew")
        chromium.write("//input[@name='file']", str(upload))
        chromium.follow("//input[@name='_save']")
        assert "curlew of 3000000 bytes" in chromium.text()
    stored = list((site.root / "shop/db").glob("upload*.bin"))
    assert [path.read_bytes() for path in stored] == [upload.read_bytes()]

"""Layouts: the directories and default files of httpd's distributions, and how a text shows which is its own.

Sources: `-V` of the packages and their config.layout. Imports nothing: -V runs in milliseconds.
"""

from __future__ import annotations

DEBIAN = "debian"
SHARED = "shared"
UPSTREAM = "upstream"
SUSE = "suse"
"""Names of builds (base/builds.py)."""
PREFIX = "/usr/local/apache2"


class Layout:
    """One distribution of httpd.

    Attributes:
        name: for messages.
        build: the build of its 2.4; "" if the text decides.
        root: the ServerRoot; `types_file`, `pid_file` and `error_log` may be relative to it.
        file: the main file, absolute.
        document_root: the DocumentRoot; "" for `htdocs` below the ServerRoot.
        run_directory: the DefaultRuntimeDir; "" for `logs` below the ServerRoot.
        suexec: the wrapper program.
        paths: parts of the ServerRoot or of a module's path that only this layout has.
        words: parts of the main file, in lower case, that only this layout has.
        modules_22: the modules compiled into its 2.2; None if unknown.
        service_file: the file of variables that its service reads; "" for none.
        environment: name of directories above the main file with one file for each variable; "" for none.
    """

    def __init__(
        self,
        name: str,
        build: str,
        root: str,
        file: str,
        *,
        paths: tuple[str, ...] = (),
        words: tuple[bytes, ...] = (),
        modules_22: frozenset[str] | None = None,
        types_file: str = "conf/mime.types",
        pid_file: str = "logs/httpd.pid",
        error_log: str = "logs/error_log",
        document_root: str = "",
        run_directory: str = "",
        suexec: str = "/usr/sbin/suexec",
        service_file: str = "",
        environment: str = "",
    ) -> None:
        self.name = name
        self.build = build
        self.environment = environment
        self.root = root
        self.file = file
        self.paths = paths
        self.words = words
        self.modules_22 = modules_22
        self.types_file = types_file
        self.pid_file = pid_file
        self.error_log = error_log
        self.document_root = document_root
        self.run_directory = run_directory
        self.suexec = suexec
        self.service_file = service_file

    @property
    def directory(self) -> str:
        """Return the directory of the main file."""
        return self.file.rpartition("/")[0]


UPSTREAM_LAYOUT = Layout(
    "httpd's own",
    "",
    PREFIX,
    f"{PREFIX}/conf/httpd.conf",
    paths=(PREFIX,),
    suexec=f"{PREFIX}/bin/suexec",
)
DEBIAN_LAYOUT = Layout(
    "Debian's packages",
    DEBIAN,
    "/etc/apache2",
    "/etc/apache2/apache2.conf",
    paths=("/etc/apache2", "/usr/lib/apache2/modules"),
    words=(
        b"/usr/share/doc/apache2.2-common",
        b"a2enmod",
        b"mods-enabled",
        b"/usr/lib/apache2/modules/",
        b"${apache_run_dir}",
    ),
    modules_22=frozenset({"log_config_module", "logio_module", "version_module"}),
    types_file="mime.types",
    pid_file="/run/apache2.pid",
    document_root="/var/www/html",
    run_directory="/var/run/apache2",
    suexec="/usr/lib/apache2/suexec",
)
LAYOUTS = (
    Layout(
        "cPanel's EasyApache 4",
        SHARED,
        "/etc/apache2",
        "/etc/apache2/conf/httpd.conf",
        paths=("/opt/cpanel/",),
        words=(b"easyapache 4", b"/etc/apache2/conf.modules.d", b"/etc/apache2/conf.d/includes"),
        pid_file="/run/apache2/httpd.pid",
        run_directory="/run/apache2",
        document_root="/var/www/html",
        service_file="/etc/sysconfig/httpd",
    ),
    Layout(
        "cPanel's EasyApache 3",
        "",
        "/usr/local/apache",
        "/usr/local/apache/conf/httpd.conf",
        paths=("/usr/local/apache/",),
        words=(b"/usr/local/apache/conf", b"/var/cpanel/"),
        suexec="/usr/local/apache/bin/suexec",
    ),
    Layout(
        "SUSE's packages",
        SUSE,
        "/srv/www",
        "/etc/apache2/httpd.conf",
        paths=(
            "/usr/lib/apache2/mod_",
            "/usr/lib64/apache2/mod_",
            "/usr/lib64/apache2-",
            "/usr/lib/apache2-",
        ),
        words=(b"/etc/sysconfig/apache2", b"/etc/apache2/sysconfig.d"),
        modules_22=frozenset(),
        types_file="/etc/apache2/mime.types",
        pid_file="/run/httpd.pid",
        error_log="/var/log/apache2/error_log",
        document_root="/srv/www/htdocs",
        service_file="/etc/sysconfig/apache2",
    ),
    Layout(
        "Gentoo's package",
        "",
        "/usr/lib64/apache2",
        "/etc/apache2/httpd.conf",
        words=(b"/etc/apache2/modules.d", b"/etc/conf.d/apache2"),
        types_file="/etc/apache2/mime.types",
        pid_file="/run/apache2.pid",
        document_root="/var/www/localhost/htdocs",
        suexec="/usr/bin/suexec",
        service_file="/etc/conf.d/apache2",
    ),
    Layout(
        "Alpine's package",
        SHARED,
        "/var/www",
        "/etc/apache2/httpd.conf",
        words=(b"/var/www/localhost/",),
        types_file="/etc/apache2/mime.types",
        pid_file="/run/apache2/httpd.pid",
        document_root="/var/www/localhost/htdocs",
        service_file="/etc/conf.d/apache2",
    ),
    Layout(
        "FreeBSD's port",
        SHARED,
        "/usr/local",
        "/usr/local/etc/apache24/httpd.conf",
        paths=("/usr/local/etc/apache2", "libexec/apache22", "libexec/apache24"),
        words=(b"libexec/apache24", b"etc/apache24/"),
        modules_22=frozenset(),
        types_file="etc/apache24/mime.types",
        pid_file="/var/run/httpd.pid",
        error_log="/var/log/httpd-error.log",
        document_root="/usr/local/www/apache24/data",
        suexec="/usr/local/bin/suexec",
        service_file="/etc/rc.conf",
    ),
    Layout(
        "Homebrew",
        SHARED,
        "/opt/homebrew/opt/httpd",
        "/opt/homebrew/etc/httpd/httpd.conf",
        paths=("/opt/homebrew/", "/usr/local/opt/httpd"),
        words=(b"/opt/homebrew/", b"/usr/local/opt/httpd", b"/usr/local/etc/httpd"),
        types_file="/opt/homebrew/etc/httpd/mime.types",
        pid_file="/opt/homebrew/var/run/httpd/httpd.pid",
        error_log="/opt/homebrew/var/log/httpd/error_log",
        document_root="/opt/homebrew/var/www",
        suexec="/opt/homebrew/opt/httpd/bin/suexec",
    ),
    Layout(
        "macOS",
        SHARED,
        "/usr",
        "/private/etc/apache2/httpd.conf",
        paths=("libexec/apache2/",),
        words=(b"libexec/apache2/", b"/private/etc/apache2", b"/library/webserver"),
        modules_22=frozenset(),
        types_file="/private/etc/apache2/mime.types",
        pid_file="/private/var/run/httpd.pid",
        document_root="/Library/WebServer/Documents",
        suexec="/usr/bin/suexec",
    ),
    Layout(
        "Bitnami",
        "",
        "/opt/bitnami/apache",
        "/opt/bitnami/apache/conf/httpd.conf",
        paths=("/opt/bitnami/",),
        words=(b"/opt/bitnami/",),
        suexec="/opt/bitnami/apache/bin/suexec",
    ),
    Layout(
        "XAMPP",
        "",
        "/opt/lampp",
        "/opt/lampp/etc/httpd.conf",
        paths=("/opt/lampp",),
        words=(b"/opt/lampp",),
        types_file="etc/mime.types",
        suexec="/opt/lampp/bin/suexec",
    ),
    Layout(
        "OpenShift 2",
        SHARED,
        "/etc/httpd",
        "/var/lib/openshift/gear/php/configuration/etc/conf/httpd_nolog.conf",
        words=(b"${openshift_",),
        modules_22=frozenset(),
        pid_file="run/httpd.pid",
        document_root="/var/www/html",
        environment="env",
    ),
    Layout(
        "Arch's package",
        SHARED,
        "/etc/httpd",
        "/etc/httpd/conf/httpd.conf",
        words=(b'"/srv/http', b" /srv/http"),
        pid_file="/run/httpd/httpd.pid",
        run_directory="/run/httpd",
        document_root="/srv/http",
        suexec="/usr/bin/suexec",
    ),
    DEBIAN_LAYOUT,
    Layout(
        "Red Hat's packages",
        SHARED,
        "/etc/httpd",
        "/etc/httpd/conf/httpd.conf",
        paths=("/etc/httpd/", "/usr/lib/httpd/modules", "/usr/lib64/httpd/modules"),
        words=(b"/etc/sysconfig/httpd", b"/usr/sbin/httpd", b"/etc/httpd/", b"conf.modules.d/"),
        modules_22=frozenset(),
        pid_file="/run/httpd/httpd.pid",
        run_directory="/run/httpd",
        document_root="/var/www/html",
        service_file="/etc/sysconfig/httpd",
    ),
    UPSTREAM_LAYOUT,
)
"""All layouts, in the order in which they are tried: first what only one distribution has."""


class Recognized:
    """A layout, and the part of the text or path that shows it."""

    __slots__ = ("layout", "reason")

    def __init__(self, layout: Layout, reason: str) -> None:
        self.layout = layout
        self.reason = reason


def recognize(paths: tuple[str, ...], text: bytes) -> Recognized | None:
    """Return the layout that the main file *text*, its ServerRoot and its module paths (*paths*) show."""
    lower = text.lower()
    for layout in LAYOUTS:
        word = next((word for word in layout.words if word in lower), None)
        if word is not None:
            return Recognized(layout, f"the main file has {word.decode('latin-1')}")
        part = next((part for part in layout.paths for path in paths if part in f"{path}/"), None)
        if part is not None:
            return Recognized(layout, f"{part} in a path")
    return None

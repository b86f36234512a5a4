"""Images of machines with httpd in the places of 22 distributions and control panels, of our own making.

The places, file names, variables and LoadModule lines are the distributions'; the directives are few. In
texts ``@`` stands for the image: "" for a copy, whose texts name the places of the machine that it was taken
from.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

OLD = "authz_host log_config mime dir alias"
OLD_LINES = """\
DefaultType None
<Directory "@{documents}">
    Order allow,deny
    Allow from all
</Directory>
"""
NEW = "authz_core log_config unixd mime dir alias"
NEW_LINES = """\
<Directory "@{documents}">
    Require all granted
</Directory>
"""
UNIT = "[Service]\nType=notify\n{lines}ExecStart={program} $OPTIONS -DFOREGROUND\n"


@dataclass(frozen=True)
class LayoutTree:
    """One machine.

    Attributes:
        main: the main file, absolute; *server* is the directory that a user names, "" for the image.
        documents: the DocumentRoot.
        layout: the name of base/layouts.py; *build* the name of the build, in 2.4.
        version: of the httpd that the text is for.
        files: texts by absolute path.
        defines: names of -D that the service passes.
        variable: a name and a value that the service's files give to `${NAME}`.
        page: the body of /index.html of the first host.
        has_documents: a copy shows where the documents of the text are.
    """

    main: str
    documents: str
    layout: str
    build: str
    files: dict[str, str]
    version: str = "2.4"
    server: str = ""
    defines: tuple[str, ...] = ()
    variable: tuple[str, str] = ("", "")
    page: str = "a page\n"
    has_documents: bool = True

    def write(self, image: Path, *, is_copy: bool) -> Path:
        """Write the files below *image*; return the directory or file that a user names."""
        pages = {f"{self.documents}/index.html": "a page\n"}
        for path, text in {**self.files, **pages}.items():
            target = Path(f"{image}{path}")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(
                text.replace("{documents}", self.documents).replace("@", "" if is_copy else str(image))
            )
        for directory in ("/etc", "/var/log", "/run", "/var/www"):
            Path(f"{image}{directory}").mkdir(parents=True, exist_ok=True)
        return Path(f"{image}{self.server}")


def loads(names: str, directory: str) -> str:
    """Return LoadModule lines for *names*."""
    return "".join(f"LoadModule {name}_module {directory}/mod_{name}.so\n" for name in names.split())


def _main(
    root: str, modules: str, lines: str, *, user: str = "nobody", more: str = "", version: str = "2.4"
) -> str:
    """Return a main file with the lines that every distribution has."""
    access = OLD_LINES if version == "2.2" else NEW_LINES
    return (
        f'ServerRoot "@{root}"\nListen 80\n{modules}User {user}\nServerName localhost\n'
        f'DocumentRoot "@{{documents}}"\n{access}'
        f'ErrorLog "@/var/log/error_log"\nPidFile "@/run/httpd.pid"\n'
        f'TypesConfig "@/etc/mime.types"\nCustomLog "@/var/log/access_log" "%h %r %>s"\n{lines}{more}'
    )


TYPES = {"/etc/mime.types": "text/html html\n"}


def _debian(version: str, extra: dict[str, str] | None = None, **more: object) -> LayoutTree:
    """Return Debian's layout: apache2.conf, envvars, mods-enabled and sites-enabled."""
    directory = "/usr/lib/apache2/modules"
    modules = (
        "authz_host mime dir alias" if version == "2.2" else "mpm_event authz_core mime dir alias"
    ).split()
    suffix = "" if version == "2.2" else ".conf"
    access = OLD_LINES if version == "2.2" else NEW_LINES
    include = "Include" if version == "2.2" else "IncludeOptional"
    files = {
        **TYPES,
        "/etc/apache2/apache2.conf": (
            "PidFile ${APACHE_PID_FILE}\nUser ${APACHE_RUN_USER}\nServerName localhost\n"
            "ErrorLog ${APACHE_LOG_DIR}/error.log\n"
            f"{include} mods-enabled/*.load\nTypesConfig @/etc/mime.types\n"
            f"Include ports.conf\n{include} @/etc/apache2/sites-enabled/*{suffix}\n"
        ),
        "/etc/apache2/envvars": (
            "unset HOME\nexport APACHE_RUN_USER=nobody\nexport APACHE_PID_FILE=@/run/apache2.pid\n"
            "export APACHE_LOG_DIR=@/var/log\n"
        ),
        "/etc/apache2/ports.conf": "Listen 80\n",
        f"/etc/apache2/sites-enabled/000-default{suffix}": (
            f'<VirtualHost *:80>\nDocumentRoot "@{{documents}}"\n{access}'
            "CustomLog ${APACHE_LOG_DIR}/access.log common\n</VirtualHost>\n"
        ),
        **{f"/etc/apache2/mods-enabled/{name}.load": loads(name, directory) for name in modules},
        **(extra or {}),
    }
    return LayoutTree(
        "/etc/apache2/apache2.conf",
        "/var/www" if version == "2.2" else "/var/www/html",
        "Debian's packages",
        "debian",
        files,
        version,
        "/etc/apache2",
        variable=("APACHE_RUN_USER", "nobody"),
    )


def _red_hat(
    version: str,
    extra: dict[str, str] | None = None,
    *,
    has_parts: bool = True,
    defines: tuple[str, ...] = (),
    variable: tuple[str, str] = ("", ""),
) -> LayoutTree:
    """Return Red Hat's layout; since 7 the modules stand in conf.modules.d."""
    if version == "2.2":
        modules, parts = loads(OLD, "modules"), {}
    else:
        modules = "Include conf.modules.d/*.conf\n"
        parts = {
            "/etc/httpd/conf.modules.d/00-base.conf": loads(NEW, "modules"),
            "/etc/httpd/conf.modules.d/00-mpm.conf": loads("mpm_event", "modules"),
        }
    include = "Include conf.d/*.conf\n" if version == "2.2" else "IncludeOptional conf.d/*.conf\n"
    files = {
        **TYPES,
        "/etc/httpd/conf/httpd.conf": _main("/etc/httpd", modules, include, version=version),
        "/etc/httpd/conf.d/welcome.conf": "<IfDefine WELCOME>\nAlias /w @/var/www/html\n</IfDefine>\n",
        **parts,
        **(extra or {}),
    }
    return LayoutTree(
        "/etc/httpd/conf/httpd.conf",
        "/var/www/html",
        "Red Hat's packages",
        "shared",
        files,
        version,
        "/etc/httpd",
        defines,
        variable,
    )


def _single(
    layout: str,
    build: str,
    root: str,
    main: str,
    documents: str,
    modules: str,
    *,
    version: str = "2.4",
    server: str = "",
    lines: str = "",
    extra: dict[str, str] | None = None,
    defines: tuple[str, ...] = (),
    variable: tuple[str, str] = ("", ""),
) -> LayoutTree:
    """Return a layout whose modules are loaded by the main file."""
    text = _main(root, modules, lines, version=version)
    return LayoutTree(
        main,
        documents,
        layout,
        build,
        {**TYPES, main: text, **(extra or {})},
        version,
        server,
        defines,
        variable,
    )


SUSE_FILES = {
    **TYPES,
    "/etc/apache2/httpd.conf": (
        "# settings are made in /etc/sysconfig/apache2\nInclude @/etc/apache2/uid.conf\n"
        "ServerName localhost\n"
        "ErrorLog @/var/log/error_log\nPidFile @/run/httpd.pid\n"
        "Include @/etc/apache2/sysconfig.d/loadmodule.conf\nInclude @/etc/apache2/listen.conf\n"
        "TypesConfig @/etc/mime.types\n"
        "Include @/etc/apache2/default-server.conf\n"
    ),
    "/etc/apache2/uid.conf": "User nobody\n",
    "/etc/apache2/listen.conf": "Listen 80\n<IfDefine SSL>\nListen 443\n</IfDefine>\n",
    "/etc/apache2/default-server.conf": f'DocumentRoot "@{{documents}}"\n{NEW_LINES}',
    "/etc/sysconfig/apache2": (
        'APACHE_MODULES="authz_core log_config mime dir alias"\nAPACHE_SERVER_FLAGS="SSL"\n'
        'APACHE_MPM=""\nAPACHE_EXTENDED_STATUS="off"\n'
    ),
}
WINDOWS = "c:/wamp64/bin/apache/apache2.4.54"
GEAR = "/var/lib/openshift/0123/php"

TREES = {
    "Debian 7": _debian("2.2"),
    "Debian 12": _debian("2.4"),
    "CentOS 6": _red_hat("2.2", {"/etc/sysconfig/httpd": 'OPTIONS="-D WELCOME"\n'}, defines=("WELCOME",)),
    "RHEL 7": _red_hat(
        "2.4",
        {
            "/etc/sysconfig/httpd": 'OPTIONS="-DWELCOME"\nTITLE=site\n',
            "/usr/lib/systemd/system/httpd.service": UNIT.format(
                lines="EnvironmentFile=/etc/sysconfig/httpd\n", program="/usr/sbin/httpd"
            ),
        },
        defines=("WELCOME",),
        variable=("TITLE", "site"),
    ),
    "Fedora": _red_hat(
        "2.4",
        {
            "/usr/lib/systemd/system/httpd.service": UNIT.format(
                lines="Environment=LANG=C\n", program="/usr/sbin/httpd"
            ),
            "/etc/systemd/system/httpd.service.d/own.conf": (
                '[Service]\nEnvironment="OPTIONS=-D WELCOME" TITLE=site\nEnvironmentFile=-/etc/own.env\n'
            ),
            "/etc/own.env": 'SECOND="a b"\n',
        },
        defines=("WELCOME",),
        variable=("SECOND", "a b"),
    ),
    "SLES 15": LayoutTree(
        "/etc/apache2/httpd.conf",
        "/srv/www/htdocs",
        "SUSE's packages",
        "suse",
        SUSE_FILES,
        server="/etc/apache2",
        defines=("SSL",),
    ),
    "Arch": _single(
        "Arch's package",
        "shared",
        "/etc/httpd",
        "/etc/httpd/conf/httpd.conf",
        "/srv/http",
        loads(f"mpm_event {NEW}", "modules"),
        server="/etc/httpd",
        lines="# documents: /srv/http\n",
    ),
    "Alpine": _single(
        "Alpine's package",
        "shared",
        "/var/www",
        "/etc/apache2/httpd.conf",
        "/var/www/localhost/htdocs",
        loads(f"mpm_prefork {NEW}", "modules"),
        server="/etc/apache2",
        lines="IncludeOptional @/etc/apache2/conf.d/*.conf\n",
        extra={"/etc/apache2/conf.d/own.conf": "ServerTokens Prod\n"},
    ),
    "Gentoo": _single(
        "Gentoo's package",
        "upstream",
        "/usr/lib64/apache2",
        "/etc/apache2/httpd.conf",
        "/var/www/localhost/htdocs",
        loads(NEW, "modules"),
        server="/etc/apache2",
        lines="Include @/etc/apache2/modules.d/*.conf\n",
        extra={
            "/etc/apache2/modules.d/00_info.conf": "<IfDefine INFO>\nAlias /i @/var/www\n</IfDefine>\n",
            "/etc/conf.d/apache2": 'APACHE2_OPTS="-D DEFAULT_VHOST -D INFO"\n',
            "/usr/lib64/apache2/modules/.keep": "",
        },
        defines=("DEFAULT_VHOST", "INFO"),
    ),
    "FreeBSD": _single(
        "FreeBSD's port",
        "shared",
        "/usr/local",
        "/usr/local/etc/apache24/httpd.conf",
        "/usr/local/www/apache24/data",
        loads(f"mpm_prefork {NEW}", "libexec/apache24"),
        server="/usr/local/etc/apache24",
        lines="IncludeOptional etc/apache24/Includes/*.conf\n",
        extra={
            "/usr/local/etc/apache24/Includes/own.conf": "<IfDefine OWN>\nServerTokens Prod\n</IfDefine>\n",
            "/etc/rc.conf": 'apache24_enable="YES"\napache24_flags="-DOWN"\n',
        },
        defines=("OWN",),
    ),
    "macOS": _single(
        "macOS",
        "shared",
        "/usr",
        "/private/etc/apache2/httpd.conf",
        "/Library/WebServer/Documents",
        loads(f"mpm_prefork {NEW}", "libexec/apache2"),
        lines="Include @/private/etc/apache2/other/*.conf\n",
        extra={"/private/etc/apache2/other/own.conf": "ServerTokens Prod\n", "/usr/libexec/.keep": ""},
    ),
    "Homebrew": _single(
        "Homebrew",
        "shared",
        "/opt/homebrew/opt/httpd",
        "/opt/homebrew/etc/httpd/httpd.conf",
        "/opt/homebrew/var/www",
        loads(f"mpm_prefork {NEW}", "lib/httpd/modules"),
        lines="Include @/opt/homebrew/etc/httpd/extra/own.conf\n",
        extra={
            "/opt/homebrew/etc/httpd/extra/own.conf": "ServerTokens Prod\n",
            "/opt/homebrew/opt/httpd/.keep": "",
        },
    ),
    "container image": _single(
        "httpd's own",
        "shared",
        "/usr/local/apache2",
        "/usr/local/apache2/conf/httpd.conf",
        "/usr/local/apache2/htdocs",
        loads(f"mpm_event {NEW}", "modules"),
        server="/usr/local/apache2",
    ),
    "Bitnami": _single(
        "Bitnami",
        "shared",
        "/opt/bitnami/apache",
        "/opt/bitnami/apache/conf/httpd.conf",
        "/opt/bitnami/apache/htdocs",
        loads(f"mpm_event {NEW}", "modules"),
        lines='IncludeOptional "@/opt/bitnami/apache/conf/vhosts/*.conf"\n',
        extra={"/opt/bitnami/apache/bin/envvars": 'TITLE="site"\nexport TITLE\n'},
        variable=("TITLE", "site"),
    ),
    "XAMPP": _single(
        "XAMPP",
        "upstream",
        "/opt/lampp",
        "/opt/lampp/etc/httpd.conf",
        "/opt/lampp/htdocs",
        loads(NEW, "modules"),
        server="/opt/lampp",
        lines="Include etc/extra/httpd-xampp.conf\n",
        extra={"/opt/lampp/etc/extra/httpd-xampp.conf": "ServerTokens Prod\n"},
    ),
    "WampServer": LayoutTree(
        "/wamp64/bin/apache/apache2.4.54/conf/httpd.conf",
        "/wamp64/www",
        "",
        "upstream",
        {
            "/wamp64/bin/apache/apache2.4.54/conf/httpd.conf": (
                f'Define SRVROOT "{WINDOWS}"\nServerRoot "{WINDOWS}"\nListen 80\n'
                + loads("authz_core log_config mime dir alias", "modules")
                + 'ServerName localhost\nDocumentRoot "c:/wamp64/www"\n'
                '<Directory "c:/wamp64/www">\nRequire all granted\n</Directory>\n'
            ),
            "/wamp64/bin/apache/apache2.4.54/conf/mime.types": "text/html html\n",
        },
        server="/wamp64",
        has_documents=False,
    ),
    "EasyApache 3": _single(
        "cPanel's EasyApache 3",
        "upstream",
        "/usr/local/apache",
        "/usr/local/apache/conf/httpd.conf",
        "/usr/local/apache/htdocs",
        "",
        version="2.2",
        server="/usr/local/apache",
        lines='Include "@/usr/local/apache/conf/includes/own.conf"\n',
        extra={"/usr/local/apache/conf/includes/own.conf": "ServerTokens Prod\n"},
    ),
    "EasyApache 4": _single(
        "cPanel's EasyApache 4",
        "shared",
        "/etc/apache2",
        "/etc/apache2/conf/httpd.conf",
        "/var/www/html",
        'Include "@/etc/apache2/conf.modules.d/*.conf"\n',
        server="/etc/apache2",
        extra={
            "/etc/apache2/conf.modules.d/000_mod_mpm_prefork.conf": loads("mpm_prefork", "modules"),
            "/etc/apache2/conf.modules.d/005_own.conf": loads(NEW, "modules"),
            "/etc/sysconfig/httpd": "OPTIONS=-DOWN\n",
        },
        lines="# EasyApache 4\n",
        defines=("OWN",),
    ),
    "Plesk": _debian(
        "2.4",
        {
            "/etc/apache2/sites-enabled/plesk.conf": (
                "<VirtualHost *:80>\nServerName plesk.example\n"
                'Include "@/etc/apache2/plesk.conf.d/server.conf"\n</VirtualHost>\n'
            ),
            "/etc/apache2/plesk.conf.d/server.conf": 'DocumentRoot "@/var/www/vhosts/plesk.example"\n',
            "/var/www/vhosts/plesk.example/index.html": "plesk\n",
        },
    ),
    "ISPConfig": _debian(
        "2.4",
        {
            "/etc/apache2/sites-enabled/100-own.vhost.conf": (
                "<VirtualHost *:80>\nServerName own.example\n"
                'DocumentRoot "@/var/www/clients/client1/web1/web"\n'
                "</VirtualHost>\n"
            ),
            "/var/www/clients/client1/web1/web/index.html": "own\n",
        },
    ),
    "Virtualmin": replace(
        _red_hat(
            "2.4",
            {
                "/etc/httpd/conf.d/own.example.conf": (
                    '<VirtualHost *:80>\nServerName own.example\nDocumentRoot "@/srv/own/public_html"\n'
                    "</VirtualHost>\n"
                ),
                "/srv/own/public_html/index.html": "own\n",
            },
        ),
        page="own\n",
    ),
    "OpenShift 2": LayoutTree(
        f"{GEAR}/configuration/etc/conf/httpd_nolog.conf",
        f"{GEAR}/repo",
        "OpenShift 2",
        "shared",
        {
            **TYPES,
            "/etc/httpd/.keep": "",
            f"{GEAR}/configuration/etc/conf/httpd_nolog.conf": (
                'ServerRoot "@/etc/httpd"\nListen ${OPENSHIFT_PHP_IP}:8080\n'
                + loads(OLD, "modules")
                + "ServerName localhost\nDocumentRoot ${OPENSHIFT_REPO_DIR}\nPidFile @/run/httpd.pid\n"
                "ErrorLog @/var/log/error_log\nTypesConfig @/etc/mime.types\nUser nobody\n" + OLD_LINES
            ),
            f"{GEAR}/env/OPENSHIFT_PHP_IP": "127.0.0.1",
            "/var/lib/openshift/0123/env/OPENSHIFT_REPO_DIR": f"@{GEAR}/repo\n",
        },
        "2.2",
        "/var/lib/openshift/0123",
        variable=("OPENSHIFT_PHP_IP", "127.0.0.1"),
        has_documents=False,
    ),
}
"""The machines by the name of the distribution or panel."""

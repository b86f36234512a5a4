"""A server root of 2.2 with WordPress, Cacti, Zabbix and Icinga Web, copied from Debian's packages."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.support.mariadb import PASSWORD, USER, MariaDb
from tests.support.php import copy_tree, own

TEXT = Path(__file__).parents[1] / "data" / "office-2.2.conf"
MODULES = Path("/usr/lib/apache2/modules")
PACKAGES = {
    "wordpress": Path("/usr/share/wordpress/wp-login.php"),
    "cacti": Path("/usr/share/cacti/site/index.php"),
    "zabbix-frontend-php": Path("/usr/share/zabbix/index.php"),
    "icingaweb2": Path("/usr/share/icingaweb2/public/index.php"),
}
TREES = ("wordpress", "cacti/site", "cacti/conf_templates", "zabbix", "icingaweb2")
SECRET = "the-password-of-the-database"
_HTACCESS = """# Permanent links, and no spam by XML-RPC
<IfModule mod_rewrite.c>
RewriteEngine On
RewriteBase /
RewriteCond %{REQUEST_FILENAME} !-f
RewriteCond %{REQUEST_FILENAME} !-d
RewriteRule . /index.php [L]
</IfModule>
<Files xmlrpc.php>
Order deny,allow
Deny from all
</Files>
"""
_WORDPRESS = """<?php
define('DB_NAME', 'waders');
define('DB_USER', '{user}');
define('DB_PASSWORD', '{password}');
define('DB_HOST', 'localhost:{socket}');
define('ABSPATH', __DIR__ . '/');
define('DISABLE_WP_CRON', true);
define('WP_HTTP_BLOCK_EXTERNAL', true);
// {secret}
$table_prefix = 'wp_';
require_once ABSPATH . 'wp-settings.php';
"""
_CACTI = """<?php
// {secret}
$database_type = 'mysql';
$database_default = 'waders';
$database_hostname = 'localhost';
$database_username = '{user}';
$database_password = '{password}';
$database_port = '3306';
$database_retries = 1;
$database_ssl = false;
$database_ssl_key = $database_ssl_cert = $database_ssl_ca = '';
$database_persist = false;
$poller_id = 1;
$url_path = '/cacti/';
$cacti_session_name = 'Cacti';
$cacti_db_session = false;
"""
_THEME = {
    "style.css": "/*\nTheme Name: Harbour\n*/\n",
    "index.php": "<?php the_post(); echo 'waders: ' . get_the_title();",
}
_ICINGA = {
    "config.ini": "[global]\nconfig_backend = ini\n\n[logging]\nlog = none\n",
    "authentication.ini": "[icingaweb2]\nbackend = db\nresource = waders\n",
    "resources.ini": "[waders]\ntype = db\ndb = mysql\nhost = localhost\ndbname = waders\n"
    "username = {user}\npassword = {password}\n",
    "roles.ini": "",
}


def missing_packages() -> list[str]:
    """Return the names of the packages that are not installed."""
    return [name for name, path in PACKAGES.items() if not path.is_file()]


def build(root: Path, database: MariaDb, port: int) -> Path:
    """Fill *root*; return its httpd.conf."""
    for name in TREES:
        copy_tree(Path("/usr/share") / name, root / "usr/share" / name)
    for name in ("etc/icingaweb2", "etc/run", "etc/logs", "var/sessions", "var/uploads"):
        (root / name).mkdir(parents=True)
    for name in ("backup", "uploads"):
        (root / "srv/www" / name).mkdir(parents=True)
    _write_documents(root)
    _write_settings(root, database)
    etc = root / "etc"
    (etc / "modules").symlink_to(MODULES)
    shutil.copy("/etc/mime.types", etc / "mime.types")
    command = ["openssl", "passwd", "-apr1", PASSWORD]
    digest = subprocess.run(command, capture_output=True, text=True, check=True)
    (etc / "passwords").write_text(f"{USER}:{digest.stdout}")
    (etc / "groups").write_text(f"admins: {USER}\n")
    own(root / "usr")
    own(root / "var")
    conf = etc / "httpd.conf"
    conf.write_text(TEXT.read_text().replace("@ROOT@", str(root)).replace("@PORT@", str(port)))
    return conf


def _write_documents(root: Path) -> None:
    script = f"<?php echo 6 * 7; // {SECRET}\n"
    www = root / "srv/www"
    (www / "index.html").write_text("harbour office\n")
    (www / "info.phtml").write_text(script)
    (www / "old.php.bak").write_text(script)
    (www / "sum.php").write_text(script)
    (www / "backup/sum.php").write_text("<?php echo 6 * 7;\n")
    (www / "backup/files.txt").write_text("all files\n")
    for place in (www / "uploads", root / "var/uploads"):
        (place / "sum.php").write_text("<?php echo 6 * 7;\n")
        (place / "picture.png").write_bytes(b"\x89PNG")


def _write_settings(root: Path, database: MariaDb) -> None:
    values = {"user": USER, "password": PASSWORD, "socket": database.socket, "secret": SECRET}
    share = root / "usr/share"
    (share / "wordpress/.htaccess").write_text(_HTACCESS)
    (share / "wordpress/wp-config.php").write_text(_WORDPRESS.format(**values))
    (share / "cacti/site/include/config.php").write_text(_CACTI.format(**values))
    (share / "zabbix/conf/secret.php").write_text(f"<?php // {SECRET}\n")
    theme = share / "wordpress/wp-content/themes/harbour"
    theme.mkdir(parents=True)
    for name, text in _THEME.items():
        (theme / name).write_text(text)
    for name, text in _ICINGA.items():
        (root / "etc/icingaweb2" / name).write_text(text.format(**values))


def fill_database(root: Path, database: MariaDb) -> None:
    """Create the tables of Cacti and WordPress, so that both show their first page."""
    client = ["mariadb", "--no-defaults", "-S", str(database.socket), f"-u{USER}", f"-p{PASSWORD}", "waders"]
    tables = (root / "usr/share/cacti/conf_templates/cacti.sql").read_bytes()
    version = (root / "usr/share/cacti/site/include/cacti_version").read_text().strip()
    subprocess.run(client, input=tables, check=True, capture_output=True, timeout=60)
    database.query(f"UPDATE version SET cacti = '{version}'")
    install = (
        "define('WP_INSTALLING', true); $_SERVER['HTTP_HOST'] = 'blog.harbour.example';"
        f"require '{root}/usr/share/wordpress/wp-load.php';"
        "require ABSPATH . 'wp-admin/includes/upgrade.php';"
        "wp_install('Waders of the harbour', 'knot', 'knot@harbour.example', true, '', 'test');"
        "switch_theme('harbour'); update_option('permalink_structure', '/%postname%/');"
        "flush_rewrite_rules();"
    )
    subprocess.run(["php", "-r", install], check=True, capture_output=True, timeout=60)

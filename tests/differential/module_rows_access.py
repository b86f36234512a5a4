"""Rows of modules of authentication, authorization, sessions and databases."""

from __future__ import annotations

from hashlib import md5

from tests.differential.module_row import BOTH, OLD, Row

BASIC = "AuthType Basic\nAuthName zone\n"
FILE = BASIC + "AuthBasicProvider file\nAuthUserFile @/users\n"
_ALICE, _BOB = "alice:wonder", "bob:builder"
_REFUSED = 'HTTP/1.1 401 .*WWW-Authenticate: Basic realm="zone"'
_OPEN = "HTTP/1.1 200 OK.*plain a\n$"
_DIGEST = "alice:zone:" + md5(b"alice:zone:wonder").hexdigest() + "\n"
_DBD = "DBDriver sqlite3\nDBDParams @/run/data.db\n"
_LDAP = BASIC + (
    'AuthBasicProvider ldap\nAuthLDAPURL "ldap://127.0.0.1:%LDAP%/ou=people,dc=example,dc=org?uid"\n'
)


def location(text: str, path: str = "/") -> str:
    """Return *text* in a section."""
    return f"<Location {path}>\n{text}\n</Location>"


AUTHENTICATION = (
    Row(
        "mod_auth_basic",
        location(FILE + "Require valid-user"),
        "/a.txt",
        _REFUSED,
        loads="authn_file authz_user",
        versions=BOTH,
    ),
    Row(
        "mod_authn_core",
        location("AuthType Basic\nAuthName other\nRequire valid-user"),
        "/a.txt",
        'realm="other"',
        loads="auth_basic authn_file authz_user",
    ),
    Row(
        "mod_authn_file",
        location(FILE + "Require valid-user"),
        "/a.txt",
        _OPEN,
        user=_ALICE,
        loads="auth_basic authz_user",
        versions=BOTH,
    ),
    Row(
        "mod_auth_digest",
        location(
            "AuthType Digest\nAuthName zone\nAuthDigestProvider file\n"
            "AuthUserFile @/digests\nRequire valid-user"
        ),
        "/a.txt",
        'WWW-Authenticate: Digest realm="zone", nonce="[^"]+", algorithm=MD5, qop="auth"',
        loads="authn_file authz_user",
        files={"digests": _DIGEST},
        versions=BOTH,
    ),
    Row(
        "mod_authn_anon",
        location(
            BASIC + "AuthBasicProvider anon\nAnonymous guest\nAnonymous_LogEmail off\nRequire valid-user"
        ),
        "/a.txt",
        _OPEN,
        user="guest:me@x.test",
        loads="auth_basic authz_user",
        versions=BOTH,
    ),
    Row(
        "mod_authn_dbm",
        location(
            BASIC + "AuthBasicProvider dbm\nAuthDBMType SDBM\nAuthDBMUserFile @/dbm-users\nRequire valid-user"
        ),
        "/a.txt",
        _OPEN,
        user=_ALICE,
        loads="auth_basic authz_user",
        versions=BOTH,
    ),
    Row(
        "mod_authn_dbd",
        location(
            BASIC + "AuthBasicProvider dbd\n"
            'AuthDBDUserPWQuery "SELECT password FROM users WHERE name = %s"\nRequire valid-user'
        ),
        "/a.txt",
        _OPEN,
        user=_ALICE,
        main=_DBD,
        loads="dbd auth_basic authz_user",
        versions=BOTH,
    ),
    Row(
        "mod_dbd",
        location(
            BASIC + "AuthBasicProvider dbd\n"
            'AuthDBDUserPWQuery "SELECT password FROM users WHERE name = %s"\nRequire valid-user'
        ),
        "/a.txt",
        _REFUSED,
        user="alice:wrong",
        main=_DBD,
        loads="authn_dbd auth_basic authz_user",
        versions=BOTH,
    ),
    Row(
        "mod_authn_socache",
        "LogLevel authn_socache:debug\nErrorLog @/run/authn_socache\n"
        + location(
            BASIC + "AuthBasicProvider socache file\nAuthUserFile @/users\nAuthnCacheProvideFor file\n"
            "AuthnCacheTimeout 60\nRequire valid-user"
        ),
        "/a.txt",
        "AH0168[0-9]: .*alice",
        user=_ALICE,
        times=2,
        loads="socache_shmcb auth_basic authn_file authz_user",
        log="run/authn_socache",
        main="AuthnCacheEnable\nAuthnCacheSOCache shmcb",
    ),
    Row(
        "mod_authn_alias",
        location(BASIC + "AuthBasicProvider people\nRequire valid-user"),
        "/a.txt",
        _OPEN,
        user=_ALICE,
        loads="authn_file auth_basic authz_user",
        versions=OLD,
        main="<AuthnProviderAlias file people>\nAuthUserFile @/users\n</AuthnProviderAlias>",
    ),
    Row(
        "mod_authn_default",
        location(BASIC + "AuthBasicAuthoritative off\nAuthUserFile @/none\nRequire valid-user"),
        "/a.txt",
        "401 Authorization Required",
        user=_ALICE,
        versions=OLD,
        loads="authn_file auth_basic authz_user",
    ),
    Row(
        "mod_authnz_ldap",
        location(_LDAP + "Require valid-user"),
        "/a.txt",
        _OPEN,
        user=_ALICE,
        loads="ldap auth_basic authz_user",
        needs="ldap",
    ),
    Row(
        "mod_ldap",
        location("SetHandler ldap-status", "/ldap"),
        "/ldap",
        "LDAP Cache Information",
        name="ldap",
        needs="ldap",
    ),
    Row(
        "mod_authnz_fcgi",
        location(BASIC + "AuthBasicProvider people\nRequire valid-user"),
        "/a.txt",
        _OPEN,
        user=_ALICE,
        loads="auth_basic authz_user proxy proxy_fcgi",
        main="AuthnzFcgiDefineProvider authn people fcgi://127.0.0.1:%FCGI%/",
    ),
    Row(
        "mod_auth_form",
        location(
            "AuthFormProvider file\nAuthType form\nAuthName zone\nAuthUserFile @/users\n"
            "Session On\nSessionCookieName form path=/\nRequire valid-user"
        )
        + "\n"
        + location("SetHandler form-login-handler\nAuthFormLoginSuccessLocation /in.html", "/login"),
        "/login",
        r"302 Found.*Set-Cookie: form=[^;\r]*zone-user=alice&[^;\r]*zone-pw=wonder[^;\r]*;",
        method="POST",
        body="httpd_username=alice&httpd_password=wonder",
        fields="Content-Type: application/x-www-form-urlencoded\r\n",
        loads="authn_file authz_user request session session_cookie",
    ),
)

AUTHORIZATION = (
    Row("mod_authz_core", location("Require all denied"), "/a.txt", "HTTP/1.1 403 Forbidden"),
    Row("mod_authz_host", location("Require ip 10.0.0.0/8"), "/a.txt", "HTTP/1.1 403 Forbidden"),
    Row(
        "mod_authz_host",
        location("Order deny,allow\nDeny from 127.0.0.1"),
        "/a.txt",
        "HTTP/1.1 403 Forbidden",
        name="authz-host-22",
        versions=OLD,
    ),
    Row(
        "mod_access_compat",
        location("Order deny,allow\nDeny from 127.0.0.1"),
        "/a.txt",
        "HTTP/1.1 403 Forbidden",
    ),
    Row(
        "mod_authz_user",
        location(FILE + "Require user bob"),
        "/a.txt",
        _REFUSED,
        user=_ALICE,
        loads="auth_basic authn_file",
        versions=BOTH,
    ),
    Row(
        "mod_authz_groupfile",
        location(FILE + "AuthGroupFile @/groups\nRequire group admin"),
        "/a.txt",
        _OPEN,
        user=_ALICE,
        loads="auth_basic authn_file",
        versions=BOTH,
    ),
    Row(
        "mod_authz_owner",
        location(FILE + "Require file-owner"),
        "/a.txt",
        _OPEN,
        user="root:wonder",
        loads="auth_basic authn_file",
        needs="root",
        versions=BOTH,
    ),
    Row(
        "mod_authz_dbm",
        location(FILE + "AuthzDBMType SDBM\nAuthDBMGroupFile @/dbm-groups\nRequire dbm-group admin"),
        "/a.txt",
        _OPEN,
        user=_ALICE,
        loads="auth_basic authn_file",
    ),
    Row(
        "mod_authz_dbm",
        location(FILE + "AuthzDBMType SDBM\nAuthDBMGroupFile @/dbm-groups\nRequire group admin"),
        "/a.txt",
        _OPEN,
        user=_ALICE,
        loads="auth_basic authn_file",
        name="authz-dbm-22",
        versions=OLD,
    ),
    Row(
        "mod_authz_dbd",
        location(FILE + 'AuthzDBDQuery "SELECT grp FROM groups WHERE name = %s"\nRequire dbd-group admin'),
        "/a.txt",
        _OPEN,
        user=_ALICE,
        main=_DBD,
        loads="dbd auth_basic authn_file",
    ),
    Row(
        "mod_authz_default",
        location(FILE + "Require nothing-that-is-known"),
        "/a.txt",
        _REFUSED,
        user=_ALICE,
        loads="auth_basic authn_file",
        versions=OLD,
    ),
    Row(
        "mod_allowmethods",
        location("AllowMethods GET"),
        "/a.txt",
        "HTTP/1.1 405 Method Not Allowed",
        method="POST",
        body="x",
    ),
)

_SESSION = "Session On\nSessionEnv On\nSessionHeader X-Put\nSessionMaxAge 600\n"
_PUT = 'Header always set X-Put "made=yes" env=!none\n'
SESSIONS = (
    Row(
        "mod_session",
        location(_SESSION + "SessionCookieName sess path=/"),
        "/env.cgi",
        r"HTTP_SESSION=made=yes&expiry=\d+\n|HTTP_SESSION=expiry=\d+&made=yes\n",
        loads="session_cookie cgid",
        fields="Cookie: sess=made=yes\r\n",
    ),
    Row(
        "mod_session_cookie",
        location(_SESSION + "SessionCookieName sess path=/"),
        "/env.cgi",
        r"Set-Cookie: sess=[^;]*made=yes[^;]*;.*path=/",
        loads="session cgid",
        fields="Cookie: sess=made=yes\r\n",
    ),
    *(
        Row(
            "mod_session_crypto",
            location(
                _SESSION + "SessionCookieName sess path=/\n"
                f"SessionCryptoPassphrase secret\nSessionCryptoCipher {cipher}"
            ),
            "/env.cgi",
            rf"Set-Cookie: sess=[A-Za-z0-9+/=]{{{length},}};.*path=/",
            loads="session session_cookie cgid",
            name=f"crypto-{cipher}",
            needs="ciphers",
        )
        for cipher, length in (("aes128", 60), ("aes192", 60), ("aes256", 60), ("3des192", 60))
    ),
    Row(
        "mod_session_dbd",
        location(_SESSION + "SessionDBDCookieName sess path=/"),
        "/env.cgi",
        r"Set-Cookie: sess=[0-9a-f-]{36};.*path=/",
        loads="session dbd cgid",
        main=_DBD
        + (
            'DBDPrepareSQL "DELETE FROM session WHERE key = %s" deletesession\n'
            'DBDPrepareSQL "UPDATE session SET value = %s, expiry = %lld, key = %s WHERE key = %s" '
            "updatesession\n"
            'DBDPrepareSQL "INSERT INTO session (value, expiry, key) VALUES (%s, %lld, %s)" insertsession\n'
            'DBDPrepareSQL "SELECT value FROM session WHERE key = %s AND (expiry = 0 OR expiry > %lld)" '
            "selectsession"
        ),
    ),
)

ROWS = AUTHENTICATION + AUTHORIZATION + SESSIONS

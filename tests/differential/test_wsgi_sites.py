"""Groups, options, access scripts and proxies in front, beside Debian's apache2 with mod_wsgi."""

from __future__ import annotations

from base64 import b64encode
from collections import Counter

from tests.differential.raw_exchange import Documents, both
from tests.differential.wsgi_pair import lines, needs_mod_wsgi, shown

pytestmark = needs_mod_wsgi

SHOW = """
import mod_wsgi
KEYS = ("process_group", "application_group", "callable_object", "request_handler", "handler_script",
        "script_name", "path_info", "mount_point", "script_reloading", "ignore_activity", "enable_sendfile")
NAMES = ("SCRIPT_NAME", "PATH_INFO", "REMOTE_ADDR", "HTTP_HOST", "SERVER_NAME", "SERVER_PORT",
         "HTTP_AUTHORIZATION", "HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_HOST", "HTTP_X_FORWARDED_PROTO",
         "HTTP_X_REAL_IP", "REMOTE_USER", "wsgi.url_scheme", "wsgi.multiprocess", "wsgi.multithread",
         "HTTP_X_SCRIPT_NAME", "REQUEST_METHOD")
def respond(environ, start_response, kind):
    text = kind + " " + " ".join("%s=%r" % (k, environ.get("mod_wsgi." + k)) for k in KEYS)
    text += " " + " ".join("%s=%r" % (k, environ.get(k)) for k in NAMES)
    text += " " + repr(mod_wsgi.application_group)
    data = text.encode("latin-1")
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(data)))])
    return [data]
def application(environ, start_response):
    return respond(environ, start_response, "application")
def other(environ, start_response):
    return respond(environ, start_response, "other")
def handle_request(environ, start_response):
    return respond(environ, start_response, "handler")
"""
STATUS = """
def application(environ, start_response):
    start_response(environ["QUERY_STRING"].replace("_", " "), [("Content-Type", "text/plain"), ("X-A", "b")])
    return [b"body"]
"""
LOCATION = """
def application(environ, start_response):
    start_response("200 OK", [("Location", environ["QUERY_STRING"])])
    return [b"body"]
"""
ACCESS = """
def allow_access(environ, host):
    return {"yes": True, "no": False, "none": None, "odd": 5}.get(environ["QUERY_STRING"])
"""
AUTH = """
def check_password(environ, user, password):
    if user == "boom":
        raise ValueError("boom")
    if user == "named":
        return "another"
    if user == "odd":
        return 5
    return {"good": True, "bad": False}.get(user) if password == "p" else False
def groups_for_user(environ, user):
    if user == "named":
        return 5
    return {"good": ["one", "two"], "another": []}.get(user, [""])
"""
DISPATCH = """
def process_group(environ):
    return {"two": "two", "none": None, "odd": 5}.get(environ["QUERY_STRING"])
def application_group(environ):
    if environ["QUERY_STRING"] == "boom":
        raise ValueError("boom")
    return "dispatched"
def callable_object(environ):
    return "other"
"""
CONF = """LoadModule wsgi_module %MODULES%/mod_wsgi.so
LoadModule env_module %MODULES%/mod_env.so
LoadModule setenvif_module %MODULES%/mod_setenvif.so
LoadModule auth_basic_module %MODULES%/mod_auth_basic.so
LoadModule authz_user_module %MODULES%/mod_authz_user.so
LogLevel warn
WSGIPythonHome /usr
WSGISocketPrefix %BASE%/wsgi
WSGIDaemonProcess one threads=2
WSGIDaemonProcess two processes=2 threads=1
WSGIDaemonProcess owned script-user=nobody
WSGIDaemonProcess grouped script-group=nogroup
WSGIImportScript %ROOT%/apps/show.wsgi process-group=one application-group=imported
SetEnvIf Request_URI ^/env/ GROUP=one APP=from-env CALL=other
SetEnvIf Request_URI ^/env-again/ GROUP=%{GLOBAL} APP=%{SERVER}
WSGIScriptAlias /alias %ROOT%/apps/show.wsgi process-group=one
WSGIScriptAlias /alias-full %ROOT%/apps/show.wsgi process-group=one application-group=full \\
    callable-object=other pass-authorization=On
WSGIScriptAlias /alias-two %ROOT%/apps/show.wsgi process-group=two application-group=%{SERVER}
WSGIScriptAlias /alias-host %ROOT%/apps/show.wsgi application-group=%{HOST}
WSGIScriptAlias /alias-global %ROOT%/apps/show.wsgi process-group=%{GLOBAL} application-group=%{GLOBAL}
WSGIScriptAlias /imported %ROOT%/apps/show.wsgi process-group=one application-group=imported
WSGIScriptAlias /env %ROOT%/apps/show.wsgi
WSGIScriptAlias /env-again %ROOT%/apps/show.wsgi
WSGIScriptAlias /env-none %ROOT%/apps/show.wsgi
WSGIScriptAlias /restricted %ROOT%/apps/show.wsgi process-group=two
WSGIScriptAlias /allowed %ROOT%/apps/show.wsgi process-group=one
WSGIScriptAlias /owned %ROOT%/apps/show.wsgi process-group=owned
WSGIScriptAlias /grouped %ROOT%/apps/show.wsgi process-group=grouped
WSGIScriptAlias /status %ROOT%/apps/status.wsgi process-group=one
WSGIScriptAlias /override %ROOT%/apps/status.wsgi process-group=one
WSGIScriptAlias /override-embedded %ROOT%/apps/status.wsgi
WSGIScriptAlias /location %ROOT%/apps/location.wsgi process-group=one
WSGIScriptAlias /location-embedded %ROOT%/apps/location.wsgi
WSGIScriptAlias /access %ROOT%/apps/show.wsgi process-group=one
WSGIScriptAlias /access-missing %ROOT%/apps/show.wsgi process-group=one
WSGIScriptAlias /auth %ROOT%/apps/show.wsgi process-group=one
WSGIScriptAlias /auth-group %ROOT%/apps/show.wsgi process-group=one
WSGIScriptAlias /auth-missing %ROOT%/apps/show.wsgi process-group=one
WSGIScriptAlias /dispatch %ROOT%/apps/show.wsgi
WSGIScriptAlias /proxied %ROOT%/apps/show.wsgi process-group=one
WSGIScriptAlias /proxied-any %ROOT%/apps/show.wsgi process-group=one
WSGIScriptAlias /proxied-other %ROOT%/apps/show.wsgi process-group=one
WSGIScriptAlias /head %ROOT%/apps/show.wsgi process-group=one
WSGIScriptAlias /nopath %ROOT%/apps/show.wsgi process-group=one
WSGIScriptAlias /chunked %ROOT%/apps/show.wsgi process-group=one
WSGIScriptAlias /limited %ROOT%/apps/show.wsgi process-group=one
<Directory %ROOT%>
    Require all granted
    AllowOverride FileInfo
</Directory>
<Directory %ROOT%/cgi>
    Options ExecCGI
    AddHandler wsgi-script .wsgi
    WSGIProcessGroup one
    WSGIApplicationGroup by-directory
    WSGICallableObject other
</Directory>
<Directory %ROOT%/noexec>
    AddHandler wsgi-script .wsgi
</Directory>
<Directory %ROOT%/handled>
    WSGIHandlerScript show-handler %ROOT%/apps/show.wsgi process-group=one application-group=handled
    AddHandler show-handler .txt
</Directory>
<Location /env>
    WSGIProcessGroup %{ENV:GROUP}
    WSGIApplicationGroup %{ENV:APP}
    WSGICallableObject %{ENV:CALL}
</Location>
<Location /env-again>
    WSGIProcessGroup %{ENV:GROUP}
    WSGIApplicationGroup %{ENV:APP}
</Location>
<Location /env-none>
    WSGIProcessGroup %{ENV:NO_SUCH}
</Location>
<LocationMatch ^/(restricted|allowed)>
    WSGIRestrictProcess one
</LocationMatch>
<LocationMatch ^/override>
    WSGIErrorOverride On
</LocationMatch>
<Location /access>
    WSGIAccessScript %ROOT%/apps/access.wsgi
</Location>
<Location /access-missing>
    WSGIAccessScript %ROOT%/apps/status.wsgi application-group=x
</Location>
<LocationMatch ^/auth>
    AuthType Basic
    AuthName a
    AuthBasicProvider wsgi
    WSGIAuthUserScript %ROOT%/apps/auth.wsgi
    Require valid-user
</LocationMatch>
<Location /auth-group>
    WSGIAuthGroupScript %ROOT%/apps/auth.wsgi
    Require wsgi-group three TWO
</Location>
<Location /auth-missing>
    WSGIAuthUserScript %ROOT%/apps/status.wsgi
</Location>
<Location /dispatch>
    WSGIDispatchScript %ROOT%/apps/dispatch.wsgi application-group=d
</Location>
<Location /proxied>
    WSGITrustedProxies 127.0.0.1 10.0.0.0/8
    WSGITrustedProxyHeaders X-Forwarded-For X-Forwarded-Host X-Forwarded-Proto X-Script-Name
</Location>
<Location /proxied-any>
    WSGITrustedProxyHeaders X-Forwarded-For X-Real-IP X-Forwarded-SSL X-Forwarded-Port X-Forwarded-Server
</Location>
<Location /proxied-other>
    WSGITrustedProxies 10.0.0.0/8
    WSGITrustedProxyHeaders X-Forwarded-For X-Forwarded-Host X-Forwarded-Proto X-Script-Name
</Location>
<Location /head>
    WSGIMapHEADToGET On
    WSGIPassAuthorization On
    WSGIScriptReloading Off
    WSGIIgnoreActivity On
    WSGIEnableSendfile On
</Location>
<Location /nopath>
    AcceptPathInfo Off
</Location>
<Location /chunked>
    WSGIChunkedRequest On
</Location>
<Location /limited>
    LimitRequestBody 5
</Location>
"""
PROXY_FIELDS = (
    "X-Forwarded-For: 1.2.3.4, 10.1.1.1\r\nX-Forwarded-Host: h.example\r\nX-Forwarded-Proto: https\r\n"
    "X-Real-IP: 9.9.9.9\r\nX-Forwarded-SSL: on\r\nX-Script-Name: /mounted\r\nX-Forwarded-Port: 81\r\n"
    "X-Forwarded-Server: s.example\r\n"
)
PATHS = (
    "/alias /alias/a/b /alias-full /alias-full/ /alias-two/A /alias-host /alias-global/x /imported /env "
    "/env/x /env-again/ /env-none /restricted /allowed /owned /grouped /cgi/show.wsgi /cgi/show.wsgi/info "
    "/cgi/show.wsgi/a//b /noexec/show.wsgi /handled/file.txt /handled/file.txt/more /status?201_Created "
    "/status?404_Gone /override?404_Gone /override?200_OK /override?500_Broken /override-embedded?404_Gone "
    "/location?/alias /location?http://example.com/ /location?/no-such /location-embedded?/alias /access?yes "
    "/access?no /access?none /access?odd /access-missing /auth /dispatch /dispatch?two /dispatch?none "
    "/dispatch?odd /dispatch?boom /nopath /nopath/x //alias//x /Alias"
).split()
LONG = "Transfer-Encoding: chunked\r\n"


def requests() -> dict[str, str]:
    """Return texts of requests by name."""
    out = {path: f"GET {path} HTTP/1.1\r\nHost: A.example\r\nConnection: close\r\n\r\n" for path in PATHS}
    out["POST location"] = out["/location?/alias"].replace("GET", "POST")
    for name in ("proxied", "proxied-any", "proxied-other", "alias"):
        text = f"GET /{name} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{PROXY_FIELDS}\r\n"
        out[f"{name} fields"] = text
        out[f"{name} one address"] = text.replace("1.2.3.4, 10.1.1.1", " 1.2.3.4 ")
        out[f"{name} bad address"] = text.replace("10.1.1.1", "unknown")
        out[f"{name} trusted only"] = text.replace("1.2.3.4", "10.2.2.2")
        out[f"{name} http"] = text.replace("https", "http").replace("SSL: on", "SSL: off")
    for user in ("good:p", "good:q", "bad:p", "named:p", "unknown:p", "odd:p", "boom:p"):
        value = b64encode(user.encode()).decode()
        for path in ("/auth", "/auth-group", "/auth-missing", "/alias-full", "/alias"):
            out[f"{path} {user}"] = (
                f"GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Basic {value}\r\n\r\n"
            )
    for path in ("/head", "/alias", "/chunked", "/limited"):
        out[f"HEAD {path}"] = f"HEAD {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        head = f"POST {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
        out[f"chunked {path}"] = f"{head}{LONG}\r\n3\r\nabc\r\n0\r\n\r\n"
        out[f"long {path}"] = f"{head}Content-Length: 8\r\n\r\nabcdefgh"
        out[f"expect {path}"] = f"{head}Content-Length: 3\r\nExpect: 100-continue\r\n\r\nabc"
    out["host"] = out["/alias-host"].replace("A.example", "B.example:99")
    out["no host"] = "GET /alias-host HTTP/1.0\r\n\r\n"
    return out


def test_sites() -> None:
    names = {"apps/show": SHOW, "cgi/show": SHOW, "noexec/show": SHOW, "apps/status": STATUS}
    names |= {"apps/location": LOCATION, "apps/access": ACCESS, "apps/auth": AUTH, "apps/dispatch": DISPATCH}
    files = {f"{name}.wsgi": text for name, text in names.items()} | {"handled/file.txt": "text"}
    found = {}
    sent = requests()
    with both(CONF, Documents(files)) as (apache, whimbrel):
        for name, text in sent.items():
            want = shown(apache, text)
            got = shown(whimbrel, text)
            if want != got:
                found[name] = (want, got)
        logged = lines(apache), lines(whimbrel)
    assert len(sent) > 100
    assert not found, "\n".join(f"== {name}\n{want}\n-- got\n{got}" for name, (want, got) in found.items())
    assert logged[0] - logged[1] == Counter()
    assert logged[1] - logged[0] == Counter()
    assert logged[0].total() > 20

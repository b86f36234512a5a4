"""Rows of modules with programs behind them: proxies, balancers, caches, DAV, processes."""

from __future__ import annotations

from tests.differential.module_row import BOTH, OLD, Row

_BALANCER = "<Proxy balancer://{name}>\nBalancerMember http://127.0.0.1:%PORT%\n</Proxy>"
_BALANCED = "ProxyPass /b balancer://{name} lbmethod={name}"
_PLAIN = "HTTP/1.1 200 OK.*plain a\n$"
_CACHED = "HTTP/1.1 200 OK.*X-Cache: HIT"


def _method(name: str) -> Row:
    return Row(
        f"mod_lbmethod_{name}",
        _BALANCED.format(name=name),
        "/b/a.txt",
        _PLAIN,
        main=_BALANCER.format(name=name),
        loads="proxy proxy_http proxy_balancer slotmem_shm",
    )


PROXIES = (
    Row(
        "mod_proxy",
        "ProxyPass /shut !\nProxyPass / http://127.0.0.1:%PORT%/",
        "/a.txt",
        _PLAIN,
        loads="proxy_http",
        versions=BOTH,
    ),
    Row(
        "mod_proxy_http",
        "ProxyPass /p http://127.0.0.1:%PORT%",
        "/p/env.cgi",
        "HTTP_X_FORWARDED_HOST=mod-proxy-http.test\n",
        loads="proxy cgid",
        versions=BOTH,
    ),
    Row(
        "mod_proxy_fcgi", "ProxyPass /p fcgi://127.0.0.1:%FCGI%/", "/p/x?q", "QUERY_STRING=q\n", loads="proxy"
    ),
    Row(
        "mod_proxy_scgi",
        "ProxyPass /p scgi://127.0.0.1:%SCGI%/",
        "/p/x?q",
        "QUERY_STRING=q\n",
        loads="proxy",
        versions=BOTH,
    ),
    Row(
        "mod_proxy_uwsgi",
        "ProxyPass /p uwsgi://127.0.0.1:%UWSGI%/",
        "/p/x?q",
        "QUERY_STRING=q\n",
        loads="proxy",
    ),
    Row(
        "mod_proxy_ajp",
        "ProxyPass /p ajp://127.0.0.1:%AJP%/",
        "/p/x?q",
        "QUERY_STRING=q|query_string=q",
        loads="proxy",
        versions=BOTH,
    ),
    Row(
        "mod_proxy_fdpass",
        "ProxyPass /fd fd://passed/socket",
        "/fd",
        "X-Passed: yes\r\n\r\npassed\n$",
        loads="proxy",
    ),
    Row(
        "mod_proxy_connect",
        "",
        "127.0.0.1:%PORT%",
        "HTTP/1.0 200 Connection Established.*plain a\n",
        method="CONNECT",
        fields="\r\nGET /a.txt HTTP/1.0\r\n",
        loads="proxy",
        versions=BOTH,
        main="ProxyRequests On\nAllowCONNECT %PORT%",
    ),
    Row(
        "mod_proxy_express",
        "ProxyExpressEnable on\nProxyExpressDBMFile @/express",
        "/a.txt",
        _PLAIN,
        loads="proxy proxy_http",
    ),
    Row(
        "mod_proxy_balancer",
        "<Location /m>\nSetHandler balancer-manager\n</Location>",
        "/m",
        "balancer://byrequests",
        loads="proxy proxy_http slotmem_shm lbmethod_byrequests",
        main=_BALANCER.format(name="byrequests"),
    ),
    # the slot memory that HeartbeatListen activates gets the heartbeats of POST requests
    Row(
        "mod_heartmonitor",
        "<Location /beat>\nSetHandler heartbeat\n</Location>",
        "/beat",
        "200 OK.*OK",
        method="POST",
        body="v=1&ready=10&busy=0&port=%PORT%",
        main="HeartbeatListen 239.0.0.1:%PORT%\nHeartbeatStorage @/run/beats",
    ),
    Row(
        "mod_lbmethod_heartbeat",
        _BALANCED.format(name="heartbeat"),
        "/b/a.txt",
        _PLAIN,
        main=_BALANCER.format(name="heartbeat"),
        loads="proxy proxy_http proxy_balancer slotmem_shm heartmonitor",
    ),
    *map(_method, ("byrequests", "bytraffic", "bybusyness")),
    Row(
        "mod_proxy_hcheck",
        "ProxyPass /b balancer://checked\n<Location /m>\nSetHandler balancer-manager\n"
        "</Location>\nProxyHCExpr ok {%{REQUEST_STATUS} =~ /^200/}",
        "/m",
        "Health check|hcmethod|GET",
        loads="proxy proxy_http proxy_balancer slotmem_shm lbmethod_byrequests watchdog",
        main="<Proxy balancer://checked>\nBalancerMember http://127.0.0.1:%PORT% hcmethod=GET hcinterval=1 "
        "hcuri=/a.txt\n</Proxy>",
    ),
    Row(
        "mod_slotmem_shm",
        "ProxyPass /b balancer://byrequests",
        "/b/a.txt",
        _PLAIN,
        loads="proxy proxy_http proxy_balancer lbmethod_byrequests",
    ),
    Row(
        "mod_proxy_http2",
        "ProxyPass /p h2c://127.0.0.1:%PORT%",
        "/p/a.txt",
        "plain a\n",
        loads="proxy http2",
        main="Protocols h2c http/1.1",
    ),
)

CACHES = (
    Row(
        "mod_cache",
        "CacheEnable disk /\nCacheRoot @/cache\nCacheHeader on\nCacheIgnoreNoLastMod On",
        "/a.txt",
        _CACHED,
        loads="cache_disk",
        times=2,
    ),
    Row(
        "mod_cache_disk",
        "CacheEnable disk /\nCacheRoot @/cache\nCacheDetailHeader on\nCacheHeader on",
        "/long.txt",
        _CACHED,
        loads="cache",
        times=2,
    ),
    Row(
        "mod_cache_socache",
        "CacheEnable socache /\nCacheHeader on",
        "/a.txt",
        _CACHED,
        loads="cache socache_shmcb",
        times=2,
        main="CacheSocache shmcb",
    ),
    Row(
        "mod_socache_shmcb",
        "CacheEnable socache /\nCacheHeader on",
        "/a.txt",
        _CACHED,
        loads="cache cache_socache",
        times=2,
        main="CacheSocache shmcb",
    ),
    Row(
        "mod_socache_dbm",
        "CacheEnable socache /\nCacheHeader on\nCacheSocache dbm:@/run/objects",
        "/a.txt",
        _CACHED,
        loads="cache cache_socache",
        times=2,
    ),
    Row(
        "mod_socache_memcache",
        "CacheEnable socache /\nCacheHeader on\nCacheSocache memcache:127.0.0.1:%MEMCACHE%",
        "/a.txt",
        _CACHED,
        loads="cache cache_socache",
        times=2,
        needs="memcache",
    ),
    Row(
        "mod_socache_redis",
        "CacheEnable socache /\nCacheHeader on\nCacheSocache redis:127.0.0.1:%REDIS%",
        "/a.txt",
        _CACHED,
        loads="cache cache_socache",
        times=2,
        needs="redis",
    ),
    Row(
        "mod_file_cache",
        "",
        "/kept.txt",
        "kept\n$",
        main="MMapFile @/htdocs/kept.txt",
        files={"htdocs/kept.txt": "kept\n"},
        versions=BOTH,
    ),
    Row(
        "mod_disk_cache",
        "CacheEnable disk /\nCacheRoot @/cache",
        "/a.txt",
        "Age: [0-9]+\r.*plain a\n",
        loads="cache",
        times=2,
        versions=OLD,
    ),
    Row(
        "mod_mem_cache",
        "CacheEnable mem /",
        "/a.txt",
        "Age: [0-9]+\r.*plain a\n",
        loads="cache",
        times=8,
        versions=OLD,
    ),
)

_DEPTH = "Depth: 0\r\n"
DAV = (
    Row(
        "mod_dav",
        "<Location />\nDav On\n</Location>",
        "/a.txt",
        "DAV: 1,2\r",
        method="OPTIONS",
        loads="dav_fs",
        main="DavLockDB @/run/locks",
        versions=BOTH,
    ),
    Row(
        "mod_dav_fs",
        "<Location />\nDav On\n</Location>",
        "/a.txt",
        "207 Multi-Status.*<lp1:getcontentlength>8</lp1:getcontentlength>",
        method="PROPFIND",
        fields=_DEPTH,
        loads="dav",
        main="DavLockDB @/run/locks",
        versions=BOTH,
    ),
    Row(
        "mod_dav_lock",
        "<Location />\nDav On\nDavGenericLockDB @/run/generic\n</Location>",
        "/a.txt",
        "DAV: 1,2\r",
        method="OPTIONS",
        loads="dav dav_fs",
        main="DavLockDB @/run/locks",
        versions=BOTH,
    ),
)

OTHERS = (
    Row(
        "mod_lua",
        "LuaMapHandler /lua @/hello.lua",
        "/lua",
        "hello from lua\n$",
        needs="lua",
        files={
            "hello.lua": "function handle(r)\n  r.content_type = 'text/plain'\n"
            "  r:puts('hello from lua\\n')\n  return apache2.OK\nend\n"
        },
    ),
    Row(
        "mod_dialup",
        "<Location />\nModemStandard V.92\n</Location>",
        "/a.txt",
        _PLAIN,
        apart="mpm_event of 2.4.71 does not resume the suspended connection",
    ),
    Row(
        "mod_slotmem_plain",
        "<IfModule mod_slotmem_plain.c>\nHeader set X-Plain yes\n</IfModule>",
        "/a.txt",
        "X-Plain: yes",
        loads="headers",
    ),
    Row(
        "mod_reqtimeout",
        "RequestReadTimeout header=0 body=1",
        "/env.cgi",
        "408 Request Timeout",
        method="POST",
        fields="Content-Length: 5\r\n",
        loads="cgid",
    ),
)

_STATUS = "<Location /status>\nSetHandler server-status\n</Location>"
PROCESSES = (
    *(
        Row(f"mod_mpm_{name}", _STATUS, "/status", f"Server MPM: {name}", loads="status", process=name)
        for name in ("event", "worker", "prefork")
    ),
    Row("mod_cgi", "", "/env.cgi?q", "GATEWAY_INTERFACE=CGI/1.1\n.*QUERY_STRING=q\n", process="prefork"),
    # a server that hears itself: the file of HeartbeatStorage names it
    Row(
        "mod_heartbeat",
        "",
        "/a.txt",
        "ready=[0-9]+",
        log="run/beats",
        process="worker",
        apart="2.4.71 does not hear its own message",
        main="HeartbeatAddress 239.0.0.2:%PORT%\nHeartbeatListen 239.0.0.2:%PORT%\n"
        "HeartbeatStorage @/run/beats\nHeartbeatMaxServers 0",
        loads="heartmonitor status",
    ),
)

ROWS = PROCESSES + PROXIES + CACHES + DAV + OTHERS

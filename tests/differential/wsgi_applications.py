"""Small applications by name: the text of a script, each of which has an `application`."""

from __future__ import annotations

START = 'start_response("200 OK", [("Content-Type", "text/plain")])'


def _function(*lines: str, before: str = "") -> str:
    """Return a script whose application has *lines* as its body."""
    body = "\n".join(f"    {line}" for line in lines)
    return f"{before}\ndef application(environ, start_response):\n{body}\n"


def _shown(expression: str, before: str = "") -> str:
    """Return a script that answers with the text of *expression*."""
    return _function(
        f"text = {expression}",
        "data = text.encode('latin-1', 'replace')",
        "start_response('200 OK', [('Content-Type', 'text/plain'), ('Content-Length', str(len(data)))])",
        "return [data]",
        before=before,
    )


def _fields(*pairs: tuple[str, str], status: str = "200 OK", body: str = "b'x'") -> str:
    """Return a script with a fixed response."""
    return _function(f"start_response({status!r}, {list(pairs)!r})", f"return [{body}]")


_HIDDEN = (
    "SERVER_SOFTWARE REMOTE_PORT apache.version mod_wsgi.daemon_start mod_wsgi.queue_start "
    "mod_wsgi.request_id mod_wsgi.request_start mod_wsgi.script_start mod_wsgi.total_requests "
    "mod_wsgi.thread_id mod_wsgi.thread_requests mod_wsgi.connection_id wsgi.input wsgi.errors "
    "wsgi.file_wrapper"
)
_ENVIRON = f"'\\n'.join('%s=%r' % (k, environ[k]) for k in sorted(environ) if k not in {_HIDDEN.split()!r})"

APPLICATIONS = {
    # environ
    "environ": _shown(_ENVIRON),
    "types": _shown("repr(sorted((k, type(v).__name__) for k, v in environ.items() if k[:5] != 'mod_w'))"),
    "versions": _shown("repr((environ['wsgi.version'], environ['mod_wsgi.version']))"),
    "group": _shown("__import__('mod_wsgi').application_group + '|' + __import__('mod_wsgi').process_group"),
    "name": _shown("__name__ + ' ' + __file__"),
    "argv": _shown("repr(__import__('sys').argv[0])"),
    "stdin": _shown("repr(type(environ['wsgi.input']).__name__)"),
    # status lines
    "created": _fields(status="201 Created"),
    "reason": _fields(status="200 Quite Fine"),
    "not-found": _fields(("Content-Type", "text/html"), status="404 Gone Away", body="b'<p>gone</p>'"),
    "odd": _fields(status="299 Odd"),
    "teapot": _fields(status="418 I'm a teapot"),
    "unavailable": _fields(("Retry-After", "3"), status="503 Busy"),
    "no-content": _function("start_response('204 No Content', [])", "return []"),
    "not-modified": _function("start_response('304 Not Modified', [('ETag', '\"a\"')])", "return []"),
    "no-space": _fields(status="200OK"),
    "no-digits": _fields(status="OK 200"),
    "four-digits": _fields(status="2000 OK"),
    "no-reason": _fields(status="200"),
    "status-control": _fields(status="200 O\x01K"),
    "status-bytes": _function("start_response(b'200 OK', [])", "return [b'x']"),
    "status-unicode": _function("start_response('200 \\u20ac', [])", "return [b'x']"),
    # fields
    "cookies": _fields(("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"), ("X-A", "1"), ("X-A", "2")),
    "challenge": _fields(("WWW-Authenticate", 'Basic realm="a"'), status="401 Who"),
    "type-case": _fields(("Content-Type", "Text/HTML; Charset=UTF-8")),
    "type-twice": _fields(("Content-Type", "text/html"), ("Content-Type", "text/plain")),
    "no-type": _fields(),
    "modified": _fields(("Last-Modified", "Tue, 01 Feb 2000 10:00:00 GMT"), ("ETag", '"tag"')),
    "future": _fields(("Last-Modified", "Tue, 01 Feb 2090 10:00:00 GMT")),
    "header-newline": _fields(("X-A", "b\nc")),
    "header-return": _fields(("X-A", "b\rc")),
    "header-space": _fields(("X A", "b")),
    "header-empty": _fields(("", "b")),
    "header-control": _fields(("X\x02A", "b")),
    "header-tuple": _function("start_response('200 OK', [['A', 'b']])", "return [b'x']"),
    "header-three": _function("start_response('200 OK', [('A', 'b', 'c')])", "return [b'x']"),
    "header-bytes": _function("start_response('200 OK', [(b'A', 'b')])", "return [b'x']"),
    "header-list": _function("start_response('200 OK', (('A', 'b'),))", "return [b'x']"),
    "header-latin": _fields(("X-A", "\xe9")),
    "length-word": _fields(("Content-Length", "ten")),
    "length-long": _fields(("Content-Length", "3"), body="b'abcdef'"),
    "location": _fields(("Location", "http://example.com/"), status="302 Found"),
    "connection": _fields(("X-Connection", "close"), ("Vary", "Cookie"), ("Vary", "Accept")),
    # bodies
    "plain": _shown("'hello'"),
    "empty": _function(START, "return []"),
    "empty-items": _function(START, "return [b'', b'a', b'', b'b']"),
    "no-length": _function(START, "return [b'abc']"),
    "tuple": _function(START, "return (b'a', b'b')"),
    "bytes": _function(START, "return b'abc'"),
    "generator": _function(START, "yield b'one'", "yield b'two'"),
    "lazy-start": _function("yield b''", START, "yield b'one'"),
    "big": _function(START, "return (b'x' * 50000 for _ in range(20))"),
    "write": _function(f"write = {START}", "write(b'one')", "write(b'two')", "return [b'three']"),
    "write-text": _function(f"write = {START}", "write('one')", "return []"),
    "file": _function(START, "return environ['wsgi.file_wrapper'](open(__file__, 'rb'))"),
    "file-offset": _function(
        START, "f = open(__file__, 'rb')", "f.seek(10)", "return environ['wsgi.file_wrapper'](f, 16)"
    ),
    "file-memory": _function(
        "import io", START, "return environ['wsgi.file_wrapper'](io.BytesIO(b'abc' * 9), 4)"
    ),
    "file-text": _function(
        "import io", START, "return environ['wsgi.file_wrapper'](io.StringIO('abc'), 4)"
    ),
    "input-read": _shown("repr(environ['wsgi.input'].read())"),
    "input-sizes": _shown("repr([environ['wsgi.input'].read(n) for n in (0, 3, 100, 5)])"),
    "input-lines": _shown("repr(environ['wsgi.input'].readlines())"),
    "input-iterated": _shown("repr(list(environ['wsgi.input']))"),
    "input-line": _shown("repr([environ['wsgi.input'].readline(n) for n in (2, -1, 0, 50)])"),
    "input-hint": _shown("repr(environ['wsgi.input'].readlines(3))"),
    "input-left": _shown("'did not read'"),
    # errors
    "raise": _function("raise ValueError('x')"),
    "raise-chained": _function(
        "try:", "    {}['a']", "except KeyError as e:", "    raise RuntimeError('second') from e"
    ),
    "raise-after": _function(START, "raise ValueError('after')"),
    "raise-late": _function(START, "yield b'abc'", "raise ValueError('late')"),
    "raise-first": _function(START, "raise ValueError('first')", "yield b'abc'"),
    "raise-unicode": _function("raise ValueError('\\u20ac')"),
    "exit": _function("raise SystemExit(3)"),
    "item-text": _function(START, "return ['x']"),
    "item-second": _function(START, "return [b'a', 'x']"),
    "item-number": _function(START, "yield 5"),
    "none": _function(START, "return None"),
    "never": _function("return [b'x']"),
    "never-empty": _function("return []"),
    "twice": _function(START, "start_response('201 Again', [])", "return [b'x']"),
    "twice-late": _function(START, "yield b'a'", "start_response('201 Again', [])", "yield b'b'"),
    "exc-info": _function(
        "import sys", START, "try:", "    1 / 0", "except ZeroDivisionError:",
        "    start_response('500 Oops', [('X-A', 'b')], sys.exc_info())", "return [b'oops']",
    ),
    "exc-info-late": _function(
        "import sys", START, "yield b'a'", "try:", "    1 / 0", "except ZeroDivisionError:",
        "    start_response('500 Oops', [], sys.exc_info())", "yield b'b'",
    ),
    "exc-info-word": _function("start_response('200 OK', [], 'word')", "return []"),
    "expired-input": _function(
        "old = box[0]", "box[0] = environ['wsgi.input']", START,
        "try:", "    out = repr(old and old.read())", "except RuntimeError as e:", "    out = str(e)",
        "return [out.encode()]",
        before="box = [None]",
    ),
    # logs
    "log-lines": _function("environ['wsgi.errors'].write('one\\ntwo\\nthree')", START, "return [b'x']"),
    "log-escapes": _function(
        "environ['wsgi.errors'].write('\\u20ac \\\\ \"q\" \\x01\\n')", START, "return [b'x']"
    ),
    "log-writelines": _function("environ['wsgi.errors'].writelines(['a', 'b\\n'])", START, "return [b'x']"),
    "log-print": _function(
        "import sys", "print('printed')", "sys.stderr.write('err\\n')", "print('p', end='')", START,
        "return [b'x']",
    ),
    "log-flush": _function(
        "e = environ['wsgi.errors']", "e.write('part')", "e.flush()", "e.write('rest\\n')", START,
        "return [b'x']",
    ),
    "log-attributes": _shown("repr((environ['wsgi.errors'].name, environ['wsgi.errors'].encoding))"),
    "log-close": _function(
        "class R(list):", "    def close(self): environ['wsgi.errors'].write('closed\\n')", START,
        "return R([b'a'])",
    ),
    "close-raises": _function(
        "class R(list):", "    def close(self): raise ValueError('close')", START, "return R([b'a'])"
    ),
    "close-after-error": _function(
        "class R:", "    def __iter__(self): raise ValueError('iter')",
        "    def close(self): print('closed')", START, "return R()",
    ),
    "close-generator": _function(START, "try:", "    yield b'a'", "finally:", "    print('finally')"),
    # scripts
    "syntax": "def application(environ, start_response\n",
    "indent": "def application(environ, start_response):\nreturn 1\n",
    "import": "import no_such_module\n",
    "missing": "x = 1\n",
    "not-callable": "application = 5\n",
    "system-exit": "raise SystemExit(1)\n",
    "raises": "def f():\n    raise KeyError('load')\nf()\n",
    "encoding": "# -*- coding: latin-1 -*-\n" + _shown("'\xe9'"),
    "no-arguments": "def application():\n    pass\n",
    "class": (
        "class application:\n    def __init__(self, environ, start_response):\n"
        "        self.s = start_response\n    def __iter__(self):\n"
        "        self.s('200 OK', [('Content-Type', 'text/plain')])\n        yield b'class'\n"
    ),
    "validated": "from wsgiref.validate import validator\n"
    + _function(
        "body = environ['wsgi.input'].read(3)", START, "return [b'valid', body]"
    ).replace("application(", "plain(")
    + "application = validator(plain)\n",
}  # fmt: skip

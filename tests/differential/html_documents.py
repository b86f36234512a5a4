"""Documents of ordinary and hostile HTML, by name."""

from __future__ import annotations

from typing import Final

DOCUMENTS: Final[dict[str, bytes]] = {
    "plain": b"<!DOCTYPE html>\n<html><head><title>T</title></head>\n<body><p>text</p></body></html>\n",
    "fragment": b"just text",
    "fragment_link": b'<a href="/app/x">x</a>',
    "no_html": b"<title>x</title><p>one<p>two",
    "no_head": b"<html><body>x</body></html>",
    "text_before_html": b"hello <html><head><title>q</title></head><body>x</body></html>",
    "empty_value": (
        b'<p><input checked><input checked="" disabled=disabled><a href>x</a><img alt="" src="/app/i"></p>'
    ),
    "unquoted": b"<a href=/app/x title=a'b\"c>x</a>",
    "single_quoted": b"<a href='/app/x' title='say \"hi\"'>x</a>",
    "duplicate": b"<a href=/app/1 href=/app/2 HREF=/app/3>x</a>",
    "upper": b'<A HREF="/app/x" Title="T">X</A><IMG SRC="/app/i">',
    "unknown_tag": b'<foo bar="1"><baz/>text</foo><x-custom-el data-a=1></x-custom-el>',
    "html5_tags": (
        b"<main><section><article><header>h</header><nav>n</nav></article></section><video src=/app/v"
        b" controls></video></main>"
    ),
    "void": (
        b"<p>a<br>b<hr>c<img src=/app/i><input><link href=/app/l><meta name=a><area><base href=/app/>"
        b"<col><embed src=q><param><source><track><wbr></p>"
    ),
    "void_closed": b"<p>a<br/>b<br />c</br>d<img src=/app/i /></p>",
    "self_closed": b"<div/><span/>x<p/>y<a href=/app/x/>z</a>",
    "entities": (
        b"<p>&amp; &lt; &gt; &quot; &nbsp; &copy; &eacute; &hellip; &#65; &#x42; &#8364; &unknown; &a"
        b"mp &lt &copy2 & a &; &#; &#x;</p>"
    ),
    "entities_attr": b'<a href="/app/?a=1&b=2&amp;c=3&copy=4&lt;&#65;&eacute;&unknown;">x</a>',
    "numeric_bad": b"<p>&#0; &#1; &#128; &#150; &#xD800; &#x110000; &#99999999999; &#xFFFE;</p>",
    "comment": b"<p>a<!-- c -->b<!----><!-->x--><!--->y--><!-- a -- b --><!-- <a href=/app/x> --></p>",
    "comment_bang": b"<p>a<!-- c --!>b--></p>",
    "comment_open": b"<p>a<!-- never closed <b>x</b>",
    "bogus_comment": b"<p>a<!foo>b<!>c</!x>d<?php echo 1 ?>e<? x>f</p>",
    "comment_first": (
        b"<!-- first --><!DOCTYPE html><!-- second --><html><!-- third --><head><!-- 4 --></head><!--"
        b" 5 --><body>x</body><!-- 6 --></html><!-- 7 -->"
    ),
    "pi": (
        b'<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict'
        b'//EN" "x.dtd">\n<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="en"><body><a href="/ap'
        b'p/x"/></body></html>'
    ),
    "doctype_40": (
        b'<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01//EN" "http://www.w3.org/TR/html4/strict.dtd">\n'
        b"<html>\n<head>\n<title>x</title>\n</head>\n<body>\n<p>a</p>\n<p>b</p>\n</body>\n</html>\n"
    ),
    "doctype_late": b"<p>x<!DOCTYPE html>y</p>",
    "doctype_bad": b"<!DOCTYPE><!DOCTYPE html SYSTEM 'a' [ <!ENTITY x \"y\"> ]><p>&x;</p>",
    "cdata": b"<p>a<![CDATA[ <b>x</b> ]]>b</p>",
    "script": b"<script>if (a < b && c > d) { document.write(\"<a href='/app/x'>\"); }</script><p>x</p>",
    "script_close": b"<script>var s = \"<\\/script>\"; var t = '</scr'; </foo> x</script ><p>x</p>",
    "script_comment": b'<script><!--\nvar u = "/app/x"; // </a>\n--></script><p>x',
    "script_comment2": b"<script><!-- <script> x </script> y --></script><p>z",
    "script_open": b"<p>a<script>var x = 1;",
    "script_attr": (
        b'<script src=/app/a.js async defer></script><script type="text/javascript">\n// x\n</script>'
    ),
    "script_self": b"<script src=/app/a.js /><p>x</p></script>y",
    "script_entities": b'<script>a &amp; b &lt; c</script><style>p > a { content: "&amp;" }</style>',
    "style": b"<head><style type=text/css>p { background: url(/app/i.png) } <!-- x --></style></head><body>x",
    "textarea": b"<textarea><b>x</b> &amp; </textarea><title><b>y</b></title>",
    "xmp": b"<xmp><b>x</b>&amp;</xmp><plaintext><b>y</b>",
    "noscript": (
        b"<noscript><p>n</p></noscript><iframe src=/app/f><b>x</b></iframe><noframes><b>z</b></noframes>"
    ),
    "template": (
        b'<template><tr><td>x</td></tr></template><svg viewBox="0 0 1 1"><path d="M0"/></svg><math><m'
        b"i>x</mi></math>"
    ),
    "list": b"<ul><li>one<li>two<ul><li>three</ul><li>four</ul><dl><dt>a<dd>b<dt>c</dl>",
    "table": b"<table><tr><td>1<td>2<tr><th>3</table><table><tbody><tr><td>x</td></tr></tbody></table>",
    "table_text": b"<table>text<tr>more<td>x</td></tr></table>",
    "select": b"<select><option>a<option selected>b<optgroup label=g><option>c</select>",
    "misnested": b"<b><i>x</b>y</i><p><b>a</p><p>b</b></p>",
    "p_block": b"<p>a<div>b</div>c</p><p>d<ul><li>e</ul>f<table></table>g<h1>h</h1>",
    "a_in_a": b"<a href=/app/1>x<a href=/app/2>y</a></a>",
    "form_in_form": b"<form action=/app/1><form action=/app/2><input></form></form>",
    "extra_close": b"</p></div>x</b></html></body>y",
    "after_html": b"<html><body>x</body></html>tail<p>more</p>\n",
    "two_bodies": b"<html><body class=a>x<body class=b id=c>y</body></html>",
    "two_html": b"<html lang=en><html class=x><body>x</body></html>",
    "head_content": b"<head><p>x</p></head><body>y</body>",
    "head_late": b"<body>x<head><title>t</title></head><meta name=q><link href=/app/l></body>",
    "frameset": (
        b"<html><head><title>f</title></head><frameset cols=1><frame src=/app/1><frame src=/app/2><no"
        b"frames>n</noframes></frameset></html>"
    ),
    "whitespace": (
        b"  \n\t <html> \n <head> \n <title> x </title> \n </head> \n <body> \n <p> a  b </p> \n </bo"
        b"dy> \n </html> \n "
    ),
    "whitespace_inline": b"<body><p>a</p> <p>b</p>\n<b>x</b> <i>y</i>\r\n<pre>\n a\r\n b</pre></body>",
    "cr": b'<p>a\r\nb\rc</p>\r\n<p title="x\r\ny">z</p>',
    "nul": b'<p>a\0b</p><a href="/app/\0x">y</a><!-- \0 --><script>a\0b</script>',
    "control": b'<p>a\x01b\x7fc\x1bd</p><a href="/app/\x02x">\x0c</a>',
    "utf8": '<p title="ä€">äöü€😀</p>'.encode(),
    "utf8_bom": b"\xef\xbb\xbf<p>" + "ä€".encode() + b"</p>",
    "utf8_bad": b"<p>a\xffb\xc3(\xe2\x82 \xf0\x9f</p>",
    "latin1": b"<p>caf\xe9 \xa0 \x80 \x96</p>",
    "meta_latin1": (
        b'<html><head><meta http-equiv="Content-Type" content="text/html; charset=iso-8859-1"><title>'
        b"x</title></head><body>caf\xe9</body></html>"
    ),
    "meta_utf8": (
        b"<html><head><meta http-equiv=Content-Type content='text/html; charset=UTF-8'><title>x</titl"
        b"e></head><body>caf\xc3\xa9</body></html>"
    ),
    "meta_cp1252": (
        b'<html><head><meta http-equiv="content-type" content="text/html; charset=windows-1252"><titl'
        b"e>x</title></head><body>\x80 \x93x\x94 \x81</body></html>"
    ),
    "meta_bogus": (
        b'<html><head><meta http-equiv="content-type" content="text/html; charset=klingon"><title>x</'
        b"title></head><body>caf\xe9</body></html>"
    ),
    "meta_charset": b"<html><head><meta charset=utf-8><title>x</title></head><body>caf\xc3\xa9</body></html>",
    "meta_charset_sjis": (
        b"<html><head><meta charset=shift_jis><title>x</title></head><body>\x83\x65\x83\x58\x83\x67</"
        b"body></html>"
    ),
    "meta_sjis": (
        b"<html><head><meta http-equiv=content-type content='text/html; charset=shift_jis'><title>x</"
        b"title></head><body>\x83\x65\x83\x58\x83\x67 \xff x</body></html>"
    ),
    "meta_refresh": (
        b'<html><head><meta http-equiv="refresh" content="5; url=/app/x"><meta http-equiv=X-Foo conte'
        b"nt=bar></head><body>x</body></html>"
    ),
    "utf16": "<p>x</p>".encode("utf-16"),
    "utf16be": "\ufeff<p>x\u20ac</p>".encode("utf-16-be"),
    "xml_latin1": b'<?xml version="1.0" encoding="iso-8859-1"?><html><body>caf\xe9</body></html>',
    "tag_open_eof": b'<p>x<a href="/app/x',
    "tag_open_eof2": b"<p>x<a",
    "tag_open_eof3": b"<p>x<",
    "tag_garbage": b"<p>a < b <3 <> </ > <<b>x</b>></p><a<b>q",
    "attr_garbage": b'<a =x href=/app/1 "q" \'r\' <b c="d"e=f / g>x</a><a href = "/app/2" title = t >y</a>',
    "attr_names": b"<p data-x=1 @click=go :bind=x on.y=z a:b=c _u=v 1=2 \xc3\xa4=x>t</p>",
    "attr_space": b'<a href=" /app/x " title="\ta\nb ">x</a>',
    "js_url": b"<a href=\"javascript:go('/app/x')\" onclick=\"go('/app/z'); go('/app/y')\">x</a>",
    "many_maps": (
        b'<a href="http://back.example/app/x">a</a><a href="HTTP://BACK.EXAMPLE/x">b</a><form action='
        b'"/app/"></form>'
    ),
    "entity_only": b"&lt;p&gt;",
    "blank": b"    \n\n   ",
    "four": b"<p>x",
    "three": b"<p>",
    "two": b"ab",
    "one": b"a",
    "empty": b"",
    "quote_text": b"<p>\"quoted\" 'single' > </p>",
    "nested_inline": b"<font color=red><center><b>x</b></center></font><u>y</u><s>z</s>",
    "object": (
        b'<object classid="/app/o" data="/app/d"><param name=a value=b><applet codebase=/app/c></appl'
        b"et></object>"
    ),
    "gt_attr": b"<a title=\"a>b\" href='/app/x>y'>x</a><a title=a>b href=/app/x>y</a>",
    "slash_attr": b"<a href=/app/x/ >x</a><a/href=/app/y>y</a><img/src=/app/i/>",
    "newline_tag": b"<a\nhref=\"/app/x\"\n\ttitle='t'\n>x</a\n>",
    "deep": b"<div>" * 300 + b"x" + b"</div>" * 300,
    "deep_b": b"<b>" * 400 + b"x",
    "long_attr": b'<a href="/app/' + b"x" * 20000 + b'">y</a>',
    "long_text": b"<p>" + b"word &amp; " * 3000 + b"</p>",
    "long_script": b"<script>" + b"var u = '/app/x'; // <b>\n" * 1000 + b"</script>",
    "long_comment": b"<p><!--" + b" /app/x " * 2000 + b"--></p>",
    "long_page": b"<html><body>"
    + b"".join(b'<p class=c%d>line <a href="/app/%d">n &eacute;</a><br>\n' % (i, i) for i in range(2000))
    + b"</body></html>",
}

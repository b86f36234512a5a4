"""Which sections meet, by httpd's order of merging (manual: sections.html, "How the sections are merged")."""

from __future__ import annotations

from pathlib import Path

from tests.unit.upgrade.config_trees import config_tree

from whimbrel.access.chains import Bounds, find_chains
from whimbrel.access.directory_walks import admitted_overrides
from whimbrel.upgrade.access_control.sections import AccessSection, Chain, find_sections

DENY = "Deny from all\n"


def found(root: Path, files: dict[str, str | bytes]) -> list[Chain]:
    read = config_tree(root, files)
    return find_chains(read.root, find_sections(read))


def names(chain: Chain, root: Path) -> list[str]:
    return [name(unit).replace(str(root), "") for unit in chain.sections]


def name(unit: AccessSection) -> str:
    return unit.pattern or unit.directory


def test_the_order_of_merging(tmp_path: Path) -> None:
    conf = f"""DocumentRoot ROOT/htdocs
<Location /a>
{DENY}</Location>
<Files x.html>
{DENY}</Files>
<DirectoryMatch /a/>
{DENY}</DirectoryMatch>
<Directory ROOT/htdocs/a>
AllowOverride All
{DENY}</Directory>
<Directory ROOT/htdocs>
{DENY}</Directory>
"""
    every = found(tmp_path, {"conf/httpd.conf": conf, "htdocs/a/.htaccess": DENY, "htdocs/a/x.html": ""})
    here = next(chain for chain in every if chain.path.endswith("/a/x.html"))
    assert names(here, tmp_path) == ["/htdocs/", "/htdocs/a/", "/htdocs/a/", "/a/", "x.html", "/a"]


def test_a_file_section_in_a_folder_comes_after_those_outside(tmp_path: Path) -> None:
    conf = (
        f"DocumentRoot ROOT/htdocs\n<Directory ROOT/htdocs>\n<Files *.a>\n{DENY}</Files>\n"
        f"{DENY}</Directory>\n<Files x.a>\n{DENY}</Files>\n"
    )
    every = found(tmp_path, {"conf/httpd.conf": conf, "htdocs/x.a": ""})
    assert ["/htdocs/", "x.a", "*.a"] in [names(chain, tmp_path) for chain in every if chain.is_certain]


def test_a_name_that_no_file_has_is_matched_by_several_patterns(tmp_path: Path) -> None:
    conf = (
        f'DocumentRoot ROOT/htdocs\n<FilesMatch "^\\.ht">\n{DENY}</FilesMatch>\n'
        f'<Files *~>\n{DENY}</Files>\n<Directory ROOT/htdocs/a>\n{DENY}<FilesMatch "\\.bak.?$">\n{DENY}'
        "</FilesMatch>\n</Directory>\n"
    )
    every = [
        names(chain, tmp_path) for chain in found(tmp_path, {"conf/httpd.conf": conf, "htdocs/a/b.html": ""})
    ]
    assert ["^\\.ht", "*~"] in every
    assert ["/htdocs/a/", "^\\.ht", "*~", "\\.bak.?$"] in every  # such as .ht.bak~
    assert ["^\\.ht", "*~", "\\.bak.?$"] not in every  # a section of one directory


def test_allow_override_none_hides_the_files(tmp_path: Path) -> None:
    conf = (
        "DocumentRoot ROOT/htdocs\n<Directory ROOT/htdocs>\nAllowOverride None\n</Directory>\n"
        "<Directory ROOT/htdocs/b>\nAllowOverride Limit\n</Directory>\n"
    )
    read = config_tree(
        tmp_path, {"conf/httpd.conf": conf, "htdocs/.htaccess": DENY, "htdocs/b/.htaccess": DENY}
    )
    assert {
        unit.directory.replace(str(tmp_path), ""): override
        for unit, override in admitted_overrides(find_sections(read)).items()
    } == {"/htdocs/b/": {"limit"}}


def test_a_virtual_host_admits_the_files_of_its_sections(tmp_path: Path) -> None:
    conf = """DocumentRoot ROOT/htdocs
<Directory />
AllowOverride None
</Directory>
<Directory ROOT/b>
AllowOverride All
</Directory>
<VirtualHost *:80>
DocumentRoot ROOT/a
<Directory ROOT/a>
AllowOverride Limit
</Directory>
</VirtualHost>
<VirtualHost *:81>
<Directory ROOT/b>
AllowOverride FileInfo
</Directory>
</VirtualHost>
"""
    files = {"conf/httpd.conf": conf, "htdocs/.htaccess": DENY, "a/c/.htaccess": DENY, "b/.htaccess": DENY}
    read = config_tree(tmp_path, files)
    assert {
        unit.directory.replace(str(tmp_path), ""): override
        for unit, override in admitted_overrides(find_sections(read)).items()
    } == {"/a/c/": {"limit"}, "/b/": {"fileinfo"}}


def test_virtual_hosts_have_the_main_servers_sections_and_their_own(tmp_path: Path) -> None:
    conf = f"""DocumentRoot ROOT/htdocs
<Location />
{DENY}</Location>
<VirtualHost *:80>
<Location /a>
{DENY}</Location>
</VirtualHost>
<VirtualHost *:81>
<Location /b>
{DENY}</Location>
</VirtualHost>
"""
    every = [
        names(chain, tmp_path) for chain in found(tmp_path, {"conf/httpd.conf": conf, "htdocs/i.html": ""})
    ]
    assert ["/", "/a"] in every
    assert ["/", "/b"] in every
    assert not any("/a" in one and "/b" in one for one in every)


def test_an_alias_leads_to_its_folder(tmp_path: Path) -> None:
    conf = (
        "DocumentRoot ROOT/htdocs\nAlias /doc/ ROOT/manual/\n<Directory ROOT/manual>\n"
        f"{DENY}</Directory>\n<Location /doc>\n{DENY}</Location>\n"
    )
    every = [
        names(chain, tmp_path)
        for chain in found(tmp_path, {"conf/httpd.conf": conf, "manual/a.html": "", "htdocs/b.html": ""})
    ]
    assert ["/manual/", "/doc"] in every


def test_what_servers_share_is_looked_at_once(tmp_path: Path) -> None:
    hosts = "".join(
        f"<VirtualHost *:80>\nServerName h{number}\n<Files x{number}>\n{DENY}</Files>\n</VirtualHost>\n"
        for number in range(20)
    )
    read = config_tree(
        tmp_path,
        {
            "conf/httpd.conf": f"DocumentRoot ROOT/htdocs\nAlias /shared ROOT/shared\n{hosts}",
            "htdocs/x1": "",
            "shared/a/x2": "",
        },
    )
    bounds = Bounds()
    every = find_chains(read.root, find_sections(read), bounds)
    assert {top.removeprefix(str(tmp_path)) for top in bounds.walked} == {"/htdocs", "/shared"}
    assert not bounds.exceeded
    assert any(chain.path.endswith("/shared/a/x2") and chain.last.pattern == "x2" for chain in every)


def test_what_is_not_tried_is_told(tmp_path: Path) -> None:
    read = config_tree(
        tmp_path,
        {"conf/httpd.conf": f"DocumentRoot ROOT/htdocs\n<Files x>\n{DENY}</Files>\n", "htdocs/a": ""},
    )
    bounds = Bounds(on_disk=-1)
    find_chains(read.root, find_sections(read), bounds)
    assert list(bounds.exceeded) == ["of the files below document roots and aliases only 200000 were tried"]


def test_aliases_of_a_directory_that_match_the_same_sections(tmp_path: Path) -> None:
    conf = (
        "DocumentRoot ROOT/htdocs\nAlias /a ROOT/d/\nAlias /b ROOT/d\nAlias /c ROOT/d\nAlias /dd ROOT/dd\n"
        f"<Directory ROOT/d>\n{DENY}</Directory>\n<Location /c>\n{DENY}</Location>\n"
    )
    every = found(tmp_path, {"conf/httpd.conf": conf, "d/x": "", "dd/x": ""})
    alone = next(chain for chain in every if names(chain, tmp_path) == ["/d/"])
    rest = alone.url.removeprefix("/a")
    assert (alone.url, alone.aliases) == (f"/a{rest}", (f"/b{rest}",))


def test_more_path_behind_a_file_meets_other_locations(tmp_path: Path) -> None:
    conf = f"""DocumentRoot ROOT/htdocs
<Files x.html>
{DENY}</Files>
<Location "/*.html">
{DENY}</Location>
<LocationMatch "/end$">
{DENY}</LocationMatch>
<Location /x.html/deep>
{DENY}</Location>
"""
    every = found(tmp_path, {"conf/httpd.conf": conf, "htdocs/x.html": ""})
    met = [names(chain, tmp_path) for chain in every if chain.is_certain]
    assert ["x.html", "/*.html"] in met
    assert ["x.html"] in met
    assert ["x.html", "/end$"] in met
    assert ["x.html", "/x.html/deep"] in met


def test_a_file_is_tried_with_each_of_its_urls(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "conf/httpd.conf": (
            "DocumentRoot ROOT/htdocs\nAlias /al ROOT/htdocs/a\n"
            "<Files x.html>\nOrder allow,deny\n</Files>\n"
            "<Location /a/b>\nOrder allow,deny\n</Location>\n"
            "<Location /al/b>\nOrder allow,deny\n</Location>\n"
        ),
        "htdocs/a/b/x.html": "",
    }
    certain = [
        [name(unit) for unit in chain.sections] for chain in found(tmp_path, files) if chain.is_certain
    ]
    assert ["x.html", "/a/b"] in certain
    assert ["x.html", "/al/b"] in certain


def test_a_host_of_mod_vhost_alias_serves_the_directories_of_its_names_alone(tmp_path: Path) -> None:
    """mod_vhost_alias.c: URLs that no alias maps lead to the directory of the name, never to DocumentRoot."""
    conf = (
        "DocumentRoot ROOT/htdocs\n<Directory ROOT/htdocs/a>\nOrder allow,deny\n</Directory>\n"
        "<VirtualHost *:80>\nVirtualDocumentRoot ROOT/hosts/%1/www\nAlias /al ROOT/al\n"
        "<Files x.html>\nOrder allow,deny\n</Files>\n<Location /b>\nOrder allow,deny\n</Location>\n"
        "</VirtualHost>\n"
    )
    files: dict[str, str | bytes] = {
        "conf/httpd.conf": conf,
        "htdocs/a/x.html": "",
        "hosts/one/www/b/x.html": "",
        "hosts/two/www/.htaccess": "Order allow,deny\n",
        "hosts/two/other/.htaccess": "Order allow,deny\n",
        "al/.htaccess": "Order allow,deny\n",
    }
    every = [names(chain, tmp_path) for chain in found(tmp_path, files)]
    assert ["/htdocs/a/"] in every
    assert not [one for one in every if "/htdocs/a/" in one and len(one) > 1]
    assert ["x.html", "/b"] in every
    assert ["/hosts/two/www/", "/b"] in every  # the <Location> is in force for each name
    assert ["/hosts/two/www/", "x.html", "/b"] in every
    assert ["/al/", "x.html"] in every
    assert not [one for one in every if "/hosts/two/other/" in one and len(one) > 1]


def test_the_urls_of_a_host_of_mod_vhost_alias(tmp_path: Path) -> None:
    conf = (
        "<VirtualHost *:80>\nVirtualDocumentRoot ROOT/hosts/%0\n<Files x.html>\nOrder allow,deny\n</Files>\n"
        "<Location /b>\nOrder allow,deny\n</Location>\n</VirtualHost>\n"
    )
    files: dict[str, str | bytes] = {"conf/httpd.conf": conf, "hosts/one.example/b/x.html": ""}
    chains = [chain for chain in found(tmp_path, files) if chain.is_certain and len(chain.sections) == 2]
    assert [(chain.url, chain.path) for chain in chains] == [
        ("/b/x.html", f"{tmp_path}/hosts/one.example/b/x.html")
    ]


def test_a_rewritten_path_of_a_host_of_mod_vhost_alias_is_below_its_document_root(tmp_path: Path) -> None:
    """apache2 2.4.71: with `RewriteRule ^/r$ /y.html` /r is DocumentRoot/y.html, while /y.html is 404."""
    conf = (
        "DocumentRoot ROOT/htdocs\n<Directory ROOT/htdocs>\nOrder allow,deny\n</Directory>\n"
        "<VirtualHost *:80>\nVirtualDocumentRoot ROOT/hosts/%1\n{}"
        "<Files y.html>\nOrder allow,deny\n</Files>\n</VirtualHost>\n"
    )
    together = ["/htdocs/", "y.html"]
    for lines, is_reached in (("", False), ("RewriteEngine On\nRewriteRule ^/r$ /y.html\n", True)):
        root = tmp_path / str(is_reached)
        files: dict[str, str | bytes] = {"conf/httpd.conf": conf.format(lines), "htdocs/y.html": ""}
        assert (together in [names(chain, root) for chain in found(root, files)]) is is_reached

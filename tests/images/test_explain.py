"""`whimbrel explain` reads the files of an image of a machine at their places in it."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.support.machine_image import run, write_image


def explained(image: Path, url: str, *words: str, client: str = "198.51.100.1") -> str:
    _, output = run("explain", url, "-d", image, "--dialect", "2.2", "--from", client, *words)
    return output


def test_the_htaccess_file_of_the_image_decides(tmp_path: Path) -> None:
    image = write_image(tmp_path / "a")
    output = explained(image, "http://www.example.org/closed/index.html")
    assert output.startswith("403 ")
    assert f"Deny from all  {image}/var/www/html/closed/.htaccess:2" in output
    assert "file           /var/www/html/closed/index.html" in output  # as on the machine
    assert "not here" not in output and "not on this machine" not in output


def test_an_absolute_link_leads_into_the_image(tmp_path: Path) -> None:
    image = write_image(tmp_path / "a")
    output = explained(image, "http://shop.example.org/closed/a.html")
    assert output.startswith("403 ")
    assert f"{image}/srv/shop/closed/.htaccess:2" in output  # /var/www/shop is a link of the machine
    assert "sites-available/shop:1" in output


def test_no_link_leaves_the_image(tmp_path: Path) -> None:
    image = write_image(tmp_path / "a")
    secret = tmp_path / "secret.html"
    secret.write_text("of this machine\n")
    (image / "var/www/html/absolute.html").symlink_to(secret)
    (image / "var/www/html/relative.html").symlink_to(Path("../" * 40) / str(secret).lstrip("/"))
    for name in ("absolute", "relative"):
        assert explained(image, f"http://www.example.org/{name}.html").startswith("403 ")
    inside = image / str(secret).lstrip("/")
    inside.parent.mkdir(parents=True)
    inside.write_text("of the image\n")
    for name in ("absolute", "relative"):
        assert explained(image, f"http://www.example.org/{name}.html").startswith("200 ")


def test_homes_are_those_of_the_image(tmp_path: Path) -> None:
    image = write_image(tmp_path / "a")
    assert "/people/robin/public_html/index.html is sent" in explained(
        image, "http://www.example.org/~robin/"
    )
    assert explained(image, "http://www.example.org/~root/").startswith("404 ")


def test_passwords_and_types_of_the_image_are_read(tmp_path: Path) -> None:
    image = write_image(tmp_path / "a")
    assert explained(image, "http://www.example.org/users/a.html", "--user", "anna").startswith("200 ")
    assert explained(image, "http://www.example.org/users/a.html", "--user", "bert").startswith("401 ")
    assert "text/x-image-of-test" in explained(image, "http://www.example.org/m/a.odd", "-v")


def test_what_the_image_lacks_is_named_with_its_place(tmp_path: Path) -> None:
    image = write_image(tmp_path / "a")
    shutil.rmtree(image / "var/www")
    (image / "etc/httpd/conf/users").unlink()
    output = explained(image, "http://www.example.org/closed/index.html", "-v")
    assert f"directory {image}/var/www/ is not here" in output
    output = explained(image, "http://www.example.org/users/a.html", "-v")
    assert f"{image}/etc/httpd/conf/users is not in this copy" in output


def test_relative_paths_are_below_the_server_root_of_the_text(tmp_path: Path) -> None:
    lines = (
        'ServerRoot "/srv/media"\nAlias /relative/ more/\n'
        "<Directory /srv/media/more>\nDeny from all\n</Directory>\n"
    )
    image = write_image(tmp_path / "a", lines, srv__media__more__x="")
    output = explained(image, "http://www.example.org/relative/x")
    assert output.startswith("403 ") and "file           /srv/media/more/x" in output


def test_the_path_of_the_image_may_contain_a_server_root(tmp_path: Path) -> None:
    image = write_image(tmp_path / "etc/httpd/var/www/html")
    assert explained(image, "http://www.example.org/closed/index.html").startswith("403 ")
    assert explained(image, "http://www.example.org/index.html").startswith("200 ")


def test_a_server_root_of_this_machine_is_not_read(tmp_path: Path) -> None:
    here = tmp_path / "here"  # stands for /etc/apache2 of this machine
    (here / "conf").mkdir(parents=True)
    (here / "conf/extra.conf").write_text("Redirect /index.html http://wrong.example/\n")
    (here / "htdocs").mkdir()
    (here / "htdocs/only-here.html").write_text("of this machine\n")
    image = tmp_path / "a"
    copied = image / str(here).lstrip("/")
    (copied / "conf").mkdir(parents=True)
    (copied / "htdocs").mkdir()
    (copied / "htdocs/index.html").write_text("of the image\n")
    (copied / "conf/extra.conf").write_text("")
    (copied / "conf/httpd.conf").write_text(
        f'ServerRoot "{here}"\nLoadModule alias_module modules/mod_alias.so\nListen 80\n'
        f"DocumentRoot htdocs\nInclude {here}/conf/extra.conf\n"
    )
    output = explained(copied, "http://www.example.org/index.html")
    assert output.startswith("200 ") and f"{here}/htdocs/index.html is sent" in output
    assert explained(copied, "http://www.example.org/only-here.html").startswith("404 ")

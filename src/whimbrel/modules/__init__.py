"""One file per httpd module, under its name."""

"""The recorded answers of httpd 2.2.34 and 2.4.71, compared with those of Whimbrel."""

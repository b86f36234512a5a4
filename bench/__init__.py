"""`make bench`: requests per CPU second beside apache2 and nginx on the same documents."""

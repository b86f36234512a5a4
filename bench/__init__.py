"""`make bench`: what one second of CPU time buys, beside apache2 and nginx on the same documents."""

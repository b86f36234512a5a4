"""Crawls of packaged applications: each page in many variants, apache2 and Whimbrel compared.  `make crawl`."""

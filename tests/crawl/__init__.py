"""Crawls of packaged applications on apache2 and Whimbrel, each page in many variants: `make crawl`."""

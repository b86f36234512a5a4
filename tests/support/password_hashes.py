"""Hashes of the password wonder, made by htpasswd and crypt(3), by algorithm."""

from __future__ import annotations

HASHES = {
    "apr1": "$apr1$v7yTVYsW$n/cXnzZa2Md2s1WCns1A./",
    "sha": "{SHA}w3QkzGJswDXW5OKZHAJw0FELjfM=",
    "bcrypt": "$2y$05$PiJfJpD1P0dGwxxVUqptv.xt8Gni6ILEGkSNiosX7dwpx0CWRbBga",
    "sha512": (
        "$6$0zwaSOmVeYBl3Boo$arGCE39tK8Q1k5bG2gI5qhosGbq5P88pM9ae1ZFzj0j1ZHRWJTwZblhGM3l3jEcQLSaSQlIFStwVZS91VIcnS1"
    ),
    "sha256": "$5$7AcJWd5jjDk/dd0S$F/3wlp6hYzgUnzU8njE3l7o4Z1ScdQNi7VV2il/LGo2",
    "des": "DBVVbUFhH6aXA",
}

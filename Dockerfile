# syntax=docker/dockerfile:1
# Whimbrel in the place of the official image of httpd: same paths, same command, same signal; its processes are not root.
#   docker build -t whimbrel .
#   docker run -p 8080:80 -v "$PWD/htdocs:/usr/local/apache2/htdocs:ro" whimbrel
ARG PYTHON=3.13

FROM python:${PYTHON}-slim AS build
WORKDIR /source
# headers and a C compiler for dependencies without a wheel for this platform; media-types: conf/mime.types
RUN apt-get update \
    && apt-get install --yes --no-install-recommends gcc libc6-dev media-types \
    && rm -rf /var/lib/apt/lists/*
COPY requirements.lock requirements-dev.lock ./
# the requirements by hash; optional packages in the versions of the tests
RUN python -m venv /opt/whimbrel \
    && /opt/whimbrel/bin/pip install --no-cache-dir --require-hashes -r requirements.lock \
    && sed -n 's/^\([a-z0-9-]*==[^ ]*\).*/\1/p' requirements-dev.lock > constraints.txt
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY src src
RUN /opt/whimbrel/bin/python -m hatchling build -t wheel \
    && /opt/whimbrel/bin/pip install --no-cache-dir -c constraints.txt \
        "$(ls dist/*.whl)[brotli,cache,html,lua,proxy-http2,session-crypto,tls]"
COPY packaging/docker packaging/docker
RUN packaging/docker/layout /usr/local/apache2

FROM python:${PYTHON}-slim
ENV HTTPD_PREFIX=/usr/local/apache2
ENV PATH=$HTTPD_PREFIX/bin:/opt/whimbrel/bin:$PATH
WORKDIR $HTTPD_PREFIX
COPY --from=build /opt/whimbrel /opt/whimbrel
COPY --from=build /usr/local/apache2 /usr/local/apache2
COPY --from=build --chown=www-data:www-data /usr/local/apache2/logs /usr/local/apache2/logs
USER www-data
EXPOSE 80
# a graceful stop: requests that have begun are answered
STOPSIGNAL SIGWINCH
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s CMD ["httpd-health"]
CMD ["httpd-foreground"]

# The server with SQLite on /data:
#   docker build -t cubilete .
#   docker run -d --name cubilete --restart unless-stopped --read-only --cap-drop ALL --security-opt no-new-privileges --tmpfs /tmp -v cubilete:/data -p 8000:8000 cubilete

FROM python:3.13-slim AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_NO_INPUT=1
WORKDIR /app
RUN python -m venv .venv
COPY requirements.lock ./
RUN .venv/bin/python -m pip install --require-hashes --only-binary :all: -r requirements.lock
COPY pyproject.toml LICENSE ./
COPY migrations ./migrations
COPY service ./service
# Compiled now, since the running server can write to its data only.
RUN .venv/bin/python -m pip install --no-index --no-deps --no-build-isolation . \
    && .venv/bin/python -m compileall -q .venv

FROM python:3.13-slim
RUN groupadd --gid 10001 cubilete \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin cubilete \
    && mkdir /data \
    && chown 10001:10001 /data
COPY --from=build /app/.venv /app/.venv
WORKDIR /app
ENV PATH=/app/.venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    CUBILETE_HOST=0.0.0.0 \
    CUBILETE_DATA_DIR=/data
VOLUME /data
EXPOSE 8000
USER 10001:10001
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as u; u.build_opener(u.ProxyHandler({})).open('http://127.0.0.1:' + os.environ.get('CUBILETE_PORT', '8000') + '/livez', timeout=2)"]
CMD ["cubilete", "serve"]

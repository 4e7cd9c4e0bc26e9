"""The pages: the table, the verifier for browsers, and the reference of the API. Nothing is built
beforehand, nothing is loaded from elsewhere."""

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from fastapi import APIRouter, Request, Response

from service.api.problems import RouteNotFound
from service.api.reading import has_seen
from service.api.single_file import bundle, single_file

router = APIRouter(include_in_schema=False)

_WEB: Final = files("service") / "web"
_HTML: Final = "text/html; charset=utf-8"
_SCRIPT: Final = "text/javascript; charset=utf-8"
_STYLE: Final = "text/css; charset=utf-8"
# Swagger UI draws its signs as pictures in its style sheet.
_DOCS_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_TABLE_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
# What the table is made of, below /web/ as in the folder: its modules import each other by path.
_TABLE_FILES: Final = (
    "fair-dice.js",
    "sha256.js",
    "vendor/htm-preact/LICENSE",
    "vendor/htm-preact/LICENSE-preact",
    "vendor/htm-preact/standalone.module.js",
    "table/icon.svg",
    "table/table.css",
    *(
        f"table/{name}.js"
        for name in (
            "api",
            "app",
            "board",
            "checker",
            "controls",
            "dice",
            "feed",
            "game",
            "keep",
            "lobby",
            "markdown",
            "options",
            "story",
            "text",
            "text-en",
            "text-es",
            "ui",
        )
    ),
)
_TYPES: Final = {".js": _SCRIPT, ".css": _STYLE, ".svg": "image/svg+xml"}
_DOCS_FILES: Final = {
    "docs.css": ("docs.css", _STYLE),
    "docs.js": ("docs.js", _SCRIPT),
    "swagger-ui.css": ("vendor/swagger-ui/swagger-ui.css", _STYLE),
    "swagger-ui-bundle.js": ("vendor/swagger-ui/swagger-ui-bundle.js", _SCRIPT),
}


@dataclass(frozen=True, slots=True)
class _Page:
    """What is served, read once; ``policy`` says what it may load, nothing if it is null."""

    body: bytes
    media_type: str
    policy: str | None
    etag: str


def _page(body: bytes, media_type: str, policy: str | None = None) -> _Page:
    return _Page(body, media_type, policy, f'"{hashlib.sha256(body).hexdigest()[:32]}"')


@cache
def _verifier() -> _Page:
    made = single_file(_WEB, "verify.html", ["verify.js"])
    return _page(made.html.encode(), _HTML, made.policy)


@cache
def _verifier_module() -> _Page:
    return _page(bundle(_WEB, "verify.js").encode(), _SCRIPT)


@cache
def _docs() -> _Page:
    return _page((_WEB / "docs.html").read_bytes(), _HTML, _DOCS_POLICY)


@cache
def _docs_file(name: str) -> _Page:
    path, media_type = _DOCS_FILES[name]
    return _page(_WEB.joinpath(path).read_bytes(), media_type)


@cache
def _table() -> _Page:
    """The page at ``/``; its modules are named in it, so that they are all asked for at once."""
    modules = [name for name in _TABLE_FILES if name.endswith(".js") and name != "table/app.js"]
    preloads = "".join(f'<link rel="modulepreload" href="/web/{name}">\n' for name in modules)
    html = (_WEB / "index.html").read_text("utf-8").replace("</head>", f"{preloads}</head>")
    return _page(html.encode(), _HTML, _TABLE_POLICY)


@cache
def _table_file(name: str) -> _Page:
    media_type = _TYPES.get(name[name.rfind(".") :], "text/plain; charset=utf-8")
    return _page(_WEB.joinpath(name).read_bytes(), media_type)


def _sent(page: _Page, request: Request) -> Response:
    """A page, or 304 to a browser that has it already."""
    headers = {"cache-control": "no-cache", "etag": page.etag}
    if page.policy is not None:
        headers["content-security-policy"] = page.policy
    if has_seen(request, page.etag):
        return Response(None, 304, headers)
    return Response(page.body, headers=headers, media_type=page.media_type)


@router.get("/")
async def table(request: Request) -> Response:
    """The table: every game in the browser, by the public API alone."""
    return _sent(_table(), request)


@router.get("/web/{name:path}")
async def table_file(name: str, request: Request) -> Response:
    """What the table is made of."""
    if name not in _TABLE_FILES:
        raise RouteNotFound
    return _sent(_table_file(name), request)


@router.get("/verify")
async def verifier(request: Request) -> Response:
    """Checks a game in the browser, as one file that works wherever it is saved."""
    return _sent(_verifier(), request)


@router.get("/verify/verify.js")
async def verifier_module(request: Request) -> Response:
    """The page's verifier as a module: the very text that stands in the page."""
    return _sent(_verifier_module(), request)


@router.get("/docs")
async def docs(request: Request) -> Response:
    """The reference of the API, from its OpenAPI document."""
    return _sent(_docs(), request)


@router.get("/docs/{name}")
async def docs_file(name: str, request: Request) -> Response:
    """What the reference is drawn with."""
    if name not in _DOCS_FILES:
        raise RouteNotFound
    return _sent(_docs_file(name), request)

"""What stands around the code: locks, image, commands, and what must not be in any file."""

import ast
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import service
from tests.postgres import POSTGRESQL

ROOT = Path(__file__).resolve().parents[1]
SERVICE = ROOT / "service"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))

# Written by others and kept as they came.
VENDORED = ("service/web/vendor/",)
FETCHED = ("build", "data", "dist", "node_modules")
# So spelled that no pattern finds itself.
UNWANTED = {
    "a leftover marker": re.compile(r"\b(?:TO[D]O|FIX[M]E|XX[X]|HAC[K])\b"),
    "a path of somebody's machine": re.compile(
        r"(?<![\w.}])/(?:hom[e]|User[s]|wor[k]|roo[t]|tm[p])/[\w.]|\b[A-Z]:\\User[s]\\"
    ),
    "the name of a package registry's host": re.compile(
        r"\bpypi\.org\b|\bpythonhosted\.org\b|\bnpmjs\.(?:org|com)\b|\byarnpkg\.com\b"
        r"|\b(?:deb|security|ftp)\.debian\.org\b|\barchive\.ubuntu\.com\b|\bcrates\.io\b"
        r"|\bghcr\.io\b|\bdocker\.io\b",
        re.IGNORECASE,
    ),
}


def lock_files() -> Iterator[str]:
    """Every lock of the tree, outside of what is fetched or built."""
    for place, below, names in os.walk(ROOT):
        below[:] = [one for one in below if one[0] != "." and one not in FETCHED]
        for name in names:
            if name.endswith(".lock"):
                yield (Path(place) / name).relative_to(ROOT).as_posix()


LOCKS = sorted(lock_files())


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(requirements: list[str]) -> dict[str, str]:
    """Name → version; fails on a requirement that is not pinned with ==."""
    found = {}
    for requirement in requirements:
        match = re.fullmatch(
            r"([A-Za-z0-9._-]+)(?:\[[\w,-]+\])?==([0-9][\w.]*)(?:\s*;.*)?", requirement
        )
        assert match, f"not pinned exactly: {requirement}"
        found[normal(match[1])] = match[2]
    return found


def lock_entries(name: str) -> list[str]:
    """One string for each requirement, its hashes included, comments left out."""
    text = re.sub(r"^\s*#.*$", "", (ROOT / name).read_text("utf-8"), flags=re.MULTILINE)
    return [line for line in text.replace("\\\n", " ").splitlines() if line.strip()]


def locked(name: str) -> dict[str, str]:
    return pins([entry.partition("--hash")[0].strip() for entry in lock_entries(name)])


def shipped_modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(SERVICE.rglob("*.py")):
        yield path.relative_to(ROOT).as_posix(), ast.parse(path.read_text("utf-8"))


def imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")


def instructions(dockerfile: str) -> list[tuple[str, str]]:
    text = re.sub(r"^\s*#.*\n", "", dockerfile, flags=re.MULTILINE).replace("\\\n", " ")
    lines = [line.split(maxsplit=1) for line in text.splitlines() if line.strip()]
    return [(word.upper(), rest.strip()) for word, rest in lines]


DOCKERFILE = instructions((ROOT / "Dockerfile").read_text("utf-8"))


def last_stage() -> list[tuple[str, str]]:
    start = max(i for i, (word, _) in enumerate(DOCKERFILE) if word == "FROM")
    return DOCKERFILE[start:]


# --- locks ------------------------------------------------------------------------------------


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_contains_no_address(lock):
    text = (ROOT / lock).read_text("utf-8")
    assert not re.search(
        r"://|\bindex-url\b|\bfind-links\b|\btrusted-host\b|@ *file:|^-", text, re.M
    )


@pytest.mark.parametrize("lock", LOCKS)
def test_every_line_of_a_lock_is_exact_and_hashed(lock):
    assert locked(lock)
    for entry in lock_entries(lock):
        hashes = entry.split("--hash=")[1:]
        assert hashes, entry
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}\s*", digest) for digest in hashes), entry


def test_every_runtime_dependency_is_pinned_and_locked_at_that_version():
    pinned = pins(PROJECT["project"]["dependencies"])
    assert pinned.items() <= locked("requirements.lock").items()


def test_every_extra_is_pinned_and_in_the_development_lock():
    own = PROJECT["project"]["name"]
    extras = PROJECT["project"]["optional-dependencies"].values()
    wanted = [one for extra in extras for one in extra if not one.startswith(f"{own}[")]
    assert pins(wanted).items() <= locked("requirements-dev.lock").items()


def test_the_development_lock_holds_the_runtime_lock():
    assert locked("requirements.lock").items() <= locked("requirements-dev.lock").items()


def test_the_build_backend_comes_from_the_locks():
    backend = pins(PROJECT["build-system"]["requires"])
    assert backend == pins(PROJECT["dependency-groups"]["build"])
    assert backend.items() <= locked("requirements.lock").items()


def test_the_package_and_the_distribution_have_one_version():
    assert PROJECT["project"]["version"] == service.__version__


def test_the_locks_of_the_project_are_among_those_checked():
    assert {"requirements.lock", "requirements-dev.lock"} <= set(LOCKS)


def test_a_real_postgresql_is_among_the_databases_where_the_test_extra_brings_one():
    machine = platform.machine()
    brought = sys.platform == "darwin" or (
        sys.platform == "linux" and machine in ("x86_64", "aarch64")
    )
    assert POSTGRESQL or not brought


# --- image ------------------------------------------------------------------------------------


def test_the_image_is_built_in_stages():
    stages = [rest for word, rest in DOCKERFILE if word == "FROM"]
    assert len(stages) >= 2
    copied = [rest for word, rest in last_stage() if word == "COPY"]
    assert copied
    assert all(rest.startswith("--from=") for rest in copied)


def test_the_image_starts_from_a_named_version():
    for word, rest in DOCKERFILE:
        if word == "FROM":
            image = rest.split()[0]
            assert re.search(r":[\w.-]+$", image), image
            assert not image.endswith(":latest"), image


def test_the_image_installs_nothing_without_a_hash():
    commands = [rest for word, rest in DOCKERFILE if word == "RUN"]
    installs = [part for run in commands for part in run.split("&&") if "pip install" in part]
    assert any("--require-hashes" in install for install in installs)
    for install in installs:
        assert "--require-hashes" in install or "--no-index" in install, install


def test_the_running_image_holds_no_build_tools():
    runs = " ".join(rest for word, rest in last_stage() if word == "RUN")
    assert not re.search(r"\b(?:apt|apt-get|apk|gcc|make|pip|uv|curl|wget)\b", runs)


def test_the_image_does_not_run_as_root():
    users = [rest for word, rest in last_stage() if word == "USER"]
    assert users
    uid = users[-1].partition(":")[0]
    assert uid.isdecimal(), "a number lets an orchestrator see that it is not root"
    assert int(uid) >= 10000


def test_the_image_is_started_without_a_shell():
    commands = [rest for word, rest in last_stage() if word in ("CMD", "ENTRYPOINT")]
    assert [json.loads(command) for command in commands] == [["cubilete", "serve"]]


def test_the_image_tells_whether_it_is_alive():
    checks = [rest for word, rest in last_stage() if word == "HEALTHCHECK"]
    assert len(checks) == 1
    command = json.loads(checks[0].partition(" CMD ")[2])
    assert command[:2] == ["python", "-c"]
    compile(command[2], "HEALTHCHECK", "exec")
    assert "/livez" in command[2]


def test_the_image_keeps_its_data_on_a_volume():
    settings = " ".join(rest for word, rest in last_stage() if word == "ENV")
    assert {"CUBILETE_HOST=0.0.0.0", "CUBILETE_DATA_DIR=/data"} <= set(shlex.split(settings))
    assert ("VOLUME", "/data") in last_stage()
    assert ("EXPOSE", "8000") in last_stage()


def test_all_that_the_image_copies_reaches_the_build():
    ignore = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    for word, rest in DOCKERFILE:
        if word == "COPY" and not rest.startswith("--from="):
            for source in rest.split()[:-1]:
                assert f"!{source.removeprefix('./')}" in ignore, source


# --- commands ---------------------------------------------------------------------------------


def test_make_help_lists_every_target():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    phony = re.search(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)
    assert phony
    wanted = set(phony[1].split())
    assert wanted == set(re.findall(r"^([a-z][a-z-]*):", makefile, re.MULTILINE))
    shown = subprocess.run(
        ["make", "--no-print-directory", "help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert wanted == set(re.findall(r"^make ([a-z-]+) +\S", shown, re.MULTILINE))


def test_ci_stops_with_an_error_and_asks_nothing():
    script = ROOT / ".ci" / "run"
    text = script.read_text("utf-8")
    assert script.stat().st_mode & 0o111
    assert text.startswith("#!/usr/bin/env bash\n")
    assert "set -euo pipefail" in text
    assert "exec </dev/null" in text
    assert "CUBILETE_TESTS_NO_SKIP=1 make test" in text
    assert "make check" in text


# --- what no file holds -----------------------------------------------------------------------


def listed_files() -> list[str]:
    """The path of every file that is tracked or would be."""
    git = shutil.which("git")
    if not (ROOT / ".git").exists() or git is None:
        pytest.skip("no git tree here: which files belong to the project can't be told")
    listed = subprocess.run(
        [git, "-c", "safe.directory=*", "ls-files", "-z", "-co", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return [name for name in listed.split("\0") if name]


def project_files() -> Iterator[tuple[str, str]]:
    """Every text file that is tracked or would be, with its content."""
    for name in listed_files():
        if name.startswith(VENDORED) or not (ROOT / name).is_file():
            continue
        try:
            yield name, (ROOT / name).read_text("utf-8")
        except UnicodeDecodeError:
            continue


@pytest.mark.parametrize("what", UNWANTED)
def test_no_file_holds(what):
    found = [
        f"{name}:{number}: {line.strip()[:120]}"
        for name, text in project_files()
        for number, line in enumerate(text.splitlines(), 1)
        if UNWANTED[what].search(line)
    ]
    assert not found, f"{what} in:\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("what", "line"),
    [
        ("a leftover marker", "x = 1  # TO" + "DO later"),
        ("a path of somebody's machine", 'open("/ho' + 'me/ana/cubilete")'),
        ("a path of somebody's machine", "C:" + "\\Users\\ana"),
        ("a path of somebody's machine", "    # via -r /tm" + "p/req.in"),
        ("the name of a package registry's host", "https://files.python" + "hosted.org/x"),
    ],
)
def test_what_no_file_holds_would_be_found(what, line):
    assert UNWANTED[what].search(line)


CACHES = (".schemathesis", ".hypothesis", ".pytest_cache", ".mypy_cache", ".ruff_cache")


def in_a_cache(name: str) -> bool:
    """Whether a path of the tree lies in what a tool has left behind, wherever it ran."""
    return any(part in CACHES for part in name.split("/"))


def test_nothing_that_a_tool_leaves_behind_belongs_to_the_project():
    assert not [name for name in listed_files() if in_a_cache(name)]


@pytest.mark.parametrize("cache", CACHES)
def test_what_a_tool_leaves_behind_would_be_found(cache):
    assert in_a_cache(f"{cache}/README.md")


# --- what the code never does -----------------------------------------------------------------


def test_every_module_says_what_it_is():
    silent = [name for name, tree in shipped_modules() if not ast.get_docstring(tree)]
    assert not silent


def test_no_module_imports_random():
    guilty = [
        name
        for name, tree in shipped_modules()
        if any(imported.split(".")[0] == "random" for imported in imports(tree))
    ]
    assert not guilty


def breaks_streams(node: ast.AST) -> bool:
    """BaseHTTPMiddleware by name, or by the decorator that makes one."""
    match node:
        case ast.Name(id="BaseHTTPMiddleware") | ast.Attribute(attr="BaseHTTPMiddleware"):
            return True
        case ast.alias(name=name):
            return name.rpartition(".")[2] == "BaseHTTPMiddleware"
        case ast.Call(func=ast.Attribute(attr="middleware"), args=[ast.Constant(value="http")]):
            return True
    return False


def test_nothing_uses_the_middleware_that_breaks_streams():
    guilty = {name for name, tree in shipped_modules() if any(map(breaks_streams, ast.walk(tree)))}
    assert not guilty


@pytest.mark.parametrize(
    "source",
    [
        "from starlette.middleware.base import BaseHTTPMiddleware",
        "class Slow(base.BaseHTTPMiddleware): ...",
        "@app.middleware('http')\nasync def slow(request, call_next): ...",
    ],
)
def test_the_middleware_that_breaks_streams_would_be_found(source):
    assert any(map(breaks_streams, ast.walk(ast.parse(source))))


def asks_for_a_url(node):
    """Whether a request is asked for its URL, which its Host header helps to make."""
    return isinstance(node, ast.Attribute) and (
        (node.attr == "url" and getattr(node.value, "id", "") in ("request", "self"))
        or node.attr in ("base_url", "url_for")
    )


def test_nothing_decides_by_a_url_that_the_caller_makes():
    """Paths are taken from the scope, where no Host header reaches."""
    api = [(name, tree) for name, tree in shipped_modules() if name.startswith("service/api/")]
    # What a connection calls its url is the target of the request line, of which it takes the size.
    api = [(name, tree) for name, tree in api if name != "service/api/connection.py"]
    assert len(api) > 10
    assert not {name for name, tree in api if any(map(asks_for_a_url, ast.walk(tree)))}


@pytest.mark.parametrize("source", ["request.url.path", "str(request.base_url)", "self.url"])
def test_a_url_that_the_caller_makes_would_be_found(source):
    assert any(map(asks_for_a_url, ast.walk(ast.parse(source))))


def test_the_verifier_uses_nothing_but_the_standard_library():
    foreign = {
        f"{name}: {imported}"
        for name, tree in shipped_modules()
        if re.match(r"service/verify(?:\.py|/)", name)
        for imported in imports(tree)
        if imported.split(".")[0] not in sys.stdlib_module_names
    }
    assert not foreign

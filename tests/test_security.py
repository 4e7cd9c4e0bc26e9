"""What the server is made of and runs in: known-bad versions, hashes, a box without rights."""

import base64
import hashlib
import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.version import Version

from tests.game_client import create
from tests.server import ROOMY, Server
from tests.test_project import DOCKERFILE, LOCKS, ROOT, last_stage, locked, normal

FLOORS = tomllib.loads((ROOT / "security-floors.toml").read_text("utf-8"))
PACKAGES = {one["package"]: one for one in FLOORS["floor"]}
SQLITE = FLOORS["library"][0]
CONTAINER_FLAGS = ("--read-only", "--cap-drop ALL", "--security-opt no-new-privileges")


# --- versions -----------------------------------------------------------------------------------


def faults_of(versions):
    """What of a set of versions, by package, has a known fault."""
    for name, version in versions.items():
        known = PACKAGES.get(normal(name))
        if known is None:
            continue
        bad = "below" in known and Version(version) < Version(known["below"])
        if bad or known.get("absent") or version in known.get("never", ()):
            yield f"{name} {version}: {'; '.join(known['faults'])}"


def installed():
    return {one.metadata["Name"]: one.version for one in importlib.metadata.distributions()}


@pytest.mark.parametrize("lock", [name for name in LOCKS if name.startswith("requirements")])
def test_no_lock_holds_a_version_with_a_known_fault(lock):
    assert not list(faults_of(locked(lock)))


def test_nothing_with_a_known_fault_is_installed():
    assert not list(faults_of(installed()))


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("starlette", "1.3.0"),
        ("Starlette", "0.49.0"),
        ("h11", "0.15.9"),
        ("litellm", "1.82.8"),
        ("python_multipart", "99.0"),
        ("orjson", "3.9.14"),
    ],
)
def test_a_version_with_a_known_fault_would_be_found(name, version):
    assert len(list(faults_of({name: version}))) == 1


def test_a_version_without_one_is_not():
    assert not list(faults_of({"starlette": "1.3.1", "litellm": "1.82.9", "other": "0.1"}))


def test_every_floor_says_which_fault_it_is_for():
    for one in [*FLOORS["floor"], *FLOORS["library"]]:
        assert one["faults"]
        assert {"below", "never", "absent"} & one.keys()


@pytest.mark.parametrize("module", ["multipart", "python_multipart"])
def test_nothing_that_reads_forms_can_be_imported(module):
    assert importlib.util.find_spec(module) is None


def test_the_sqlite_that_is_used_has_not_the_race():
    if importlib.util.find_spec("pysqlite3") is None:
        pytest.skip("no wheel of pysqlite3 for this platform: the store decides at its start")
    import pysqlite3

    assert Version(pysqlite3.sqlite_version) >= Version(SQLITE["below"])


# --- hashes -------------------------------------------------------------------------------------


def wheel(place: Path, text: str) -> Path:
    """A package of one module, as a file that an installer takes."""
    path = place / "innocent-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("innocent.py", text)
        about = "innocent-1.0.dist-info"
        archive.writestr(
            f"{about}/METADATA", "Metadata-Version: 2.1\nName: innocent\nVersion: 1.0\n"
        )
        archive.writestr(
            f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
        record = f"innocent.py,sha256={digest.decode()},{len(text)}\n"
        archive.writestr(f"{about}/RECORD", f"{record}{about}/RECORD,,\n")
    return path


def installers():
    uv = Path(sys.executable).with_name("uv")
    if uv.exists():
        yield "uv", [str(uv), "pip", "install", "--no-cache", "--no-config"]
    if importlib.util.find_spec("pip") is not None:
        yield "pip", [sys.executable, "-m", "pip", "--isolated", "install", "--no-cache-dir"]


INSTALLERS = dict(installers())


def install(command, place: Path, requirement: str) -> "subprocess.CompletedProcess[str]":
    """As the Makefile does: from a lock with hashes, wheels only."""
    lock = place / "some.lock"
    lock.write_text(requirement)
    flags = ["--require-hashes", "--only-binary", ":all:", "--no-index", "--find-links", str(place)]
    kept = ("PATH", "HOME", "TMPDIR", "LANG")
    return subprocess.run(
        [*command, *flags, "--target", str(place / "target"), "-r", str(lock)],
        env={name: os.environ[name] for name in kept if name in os.environ}
        | {"PIP_CONFIG_FILE": os.devnull},
        capture_output=True,
        text=True,
        check=False,
    )


def test_there_is_an_installer_to_test():
    assert INSTALLERS


@pytest.mark.parametrize("command", INSTALLERS.values(), ids=INSTALLERS.keys())
def test_a_wheel_that_was_tampered_with_is_not_installed(tmp_path, command):
    digest = hashlib.sha256(wheel(tmp_path, "x = 1\n").read_bytes()).hexdigest()
    requirement = f"innocent==1.0 --hash=sha256:{digest}\n"
    assert install(command, tmp_path, requirement).returncode == 0
    assert (tmp_path / "target" / "innocent.py").read_text() == "x = 1\n"
    shutil.rmtree(tmp_path / "target")
    wheel(tmp_path, "x = 2\n")
    done = install(command, tmp_path, requirement)
    assert done.returncode != 0
    assert "hash" in done.stderr.lower()
    assert not (tmp_path / "target" / "innocent.py").exists()


@pytest.mark.parametrize("command", INSTALLERS.values(), ids=INSTALLERS.keys())
def test_a_requirement_without_a_hash_is_not_installed(tmp_path, command):
    wheel(tmp_path, "x = 1\n")
    done = install(command, tmp_path, "innocent==1.0\n")
    assert done.returncode != 0
    assert not (tmp_path / "target" / "innocent.py").exists()


def test_make_installs_from_the_locks_by_hash():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    installs = re.findall(r"^ *install (--.*?);", makefile, re.M) + re.findall(
        r"\$\(if \$\(2\),install (.*?)\)$", makefile, re.M
    )
    assert len(installs) == 2
    for flags in installs:
        assert "--require-hashes" in flags or "--no-index" in flags


# --- the box ------------------------------------------------------------------------------------


def test_the_image_is_documented_to_run_without_rights():
    for name in ("Dockerfile", "docs/operations.md", "SECURITY.md"):
        text = (ROOT / name).read_text("utf-8").replace("\\\n#", " ").replace("\\\n", " ")
        (line,) = re.findall(r"docker run [^\n`]+", re.sub(r" +", " ", text))
        assert all(flag in line for flag in CONTAINER_FLAGS), name


def test_the_image_adds_nothing_unseen():
    words = [word for word, _ in DOCKERFILE]
    assert "ADD" not in words
    for word, rest in DOCKERFILE:
        if word == "COPY":
            assert rest.split()[-2] not in (".", "./"), "names what it copies"
        if word in ("ENV", "ARG"):
            assert not re.search(r"KEY|TOKEN|SECRET|PASSWORD", rest)
        if word == "RUN":
            assert not re.search(r"curl|wget|chmod (?:\+s|[0-7]*[2367]\b|777)|sudo", rest)


def test_what_the_image_runs_is_not_its_own_to_change():
    for word, rest in last_stage():
        if word == "COPY":
            assert "--chown" not in rest
        if word == "RUN":
            assert set(re.findall(r"chown \S+ (\S+)", rest)) <= {"/data"}


class Boxed(Server):
    """The server with the rights of the container: nobody, nothing to write but its data."""

    def __init__(self, data_dir: Path, **variables: str) -> None:
        super().__init__(data_dir, **variables)
        self.command = (
            *("bwrap", "--die-with-parent", "--unshare-user", "--unshare-pid", "--unshare-ipc"),
            *("--uid", "65534", "--gid", "65534", "--cap-drop", "ALL", "--new-session"),
            *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"),
            *("--ro-bind", str(ROOT), str(ROOT), "--bind", str(data_dir), str(data_dir)),
            *(sys.executable, "-B", "-m", "service"),
        )

    def pids(self) -> list[int]:
        """Every process below the one that was started."""
        assert self._process is not None
        found, new = [], [self._process.pid]
        while new:
            paths = [path for pid in new for path in Path(f"/proc/{pid}/task").glob("*/children")]
            new = [int(child) for path in paths for child in path.read_text().split()]
            found += new
        return found


def can_box():
    if shutil.which("bwrap") is None:
        return False
    probe = ["bwrap", "--unshare-user", "--uid", "65534", "--ro-bind", "/", "/", "true"]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


boxed = pytest.mark.skipif(
    not can_box(), reason="bubblewrap is not installed, or this system allows no user namespaces"
)


@boxed
def test_the_server_plays_and_examines_as_nobody_with_nothing_to_write_but_its_data(tmp_path):
    with Boxed(tmp_path / "data") as server, server.client() as client:
        table = create(client, options={"target": 20})
        table.play()
        record = client.get(f"{table.path}/audit").content
        headers = {"Content-Type": "application/json"}
        report = client.post("/v1/audits", content=record, headers=headers)
        assert report.json()["ok"], report.text
        assert client.get("/docs").status_code == client.get("/verify").status_code == 200
        statuses = [Path(f"/proc/{pid}/status").read_text() for pid in server.pids()]
        assert len(statuses) >= 2, "the server and its examiner"
        for status in statuses:
            rights = dict(re.findall(r"^(Cap\w+|NoNewPrivs):\s+(\S+)$", status, re.M))
            assert rights["NoNewPrivs"] == "1"
            assert all(int(rights[f"Cap{kind}"], 16) == 0 for kind in ("Prm", "Eff", "Bnd", "Amb"))
    assert {path.name for path in (tmp_path / "data").iterdir()} >= {"cubilete.db", "server.key"}


@boxed
def test_in_the_box_nothing_else_can_be_written(tmp_path):
    """The box itself is tested: a program in it fails where the server would, too."""
    data = tmp_path / "data"
    data.mkdir()
    inside = Boxed(data).command[: Boxed(data).command.index(sys.executable)]
    for place, works in (
        (data, True),
        (ROOT, False),
        (ROOT / "service", False),
        (Path("/"), False),
    ):
        done = subprocess.run(
            [*inside, "touch", str(place / "written")], capture_output=True, check=False
        )
        assert (done.returncode == 0) == works, place
        assert (place / "written").exists() == works


def test_the_roomy_limits_of_tests_are_no_defaults():
    """A server that nobody has told anything limits its callers."""
    from service.settings import Settings

    for name, roomy in ROOMY.items():
        assert getattr(Settings(), name.removeprefix("CUBILETE_").lower()) < int(roomy)

"""A page in one file: its style sheet and its modules are put into it, so that it can be saved,
read whole with "view source" and opened where there is no network.

A module's text stays as it is, but for its imports and exports: what others import is wrapped in a
function that returns its exports, and what is named as an entry stands open at the end. That is
the whole build, and it runs when the server first serves the page.
"""

import base64
import hashlib
import posixpath
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from importlib.resources.abc import Traversable
from typing import Final

_IMPORT: Final = re.compile(
    r'^import (?:\* as (?P<whole>\w+)|\{(?P<names>[^}]*)\}) from "(?P<path>\./[^"]+)";\n', re.M
)
_EXPORT: Final = re.compile(r"^export (?=(?:async )?(?:function\*?|class|const) (\w+))", re.M)
_EXPORTS: Final = re.compile(r"^export \{([^}]*)\};\n", re.M)
_RENAMED: Final = re.compile(r"(\w+) as (\w+)")
_STYLE: Final = re.compile(r'<link rel="stylesheet" href="([\w-]+\.css)">')
_SCRIPT: Final = re.compile(r'<script type="module" src="([\w-]+\.js)"></script>')
_CHARSET: Final = '<meta charset="utf-8">\n'


@dataclass
class _Bundle:
    """Modules in the order in which they must run; ``entries`` are the open ones."""

    root: Traversable
    entries: tuple[str, ...]
    parts: list[str] = field(default_factory=list)
    done: set[str] = field(default_factory=set)

    def add(self, path: str) -> None:
        """A module after those that it imports."""
        if path in self.done:
            return
        self.done.add(path)
        text = _read(self.root, path)
        for imported in _IMPORT.finditer(text):
            self.add(_target(path, imported))
        body = _IMPORT.sub(lambda imported: self._bound(path, imported), text)
        if path in self.entries:
            self.parts.append(f"// --- {path}\n{body}")
        else:
            self.parts += [*self._licence(path), _wrapped(path, body)]

    def _bound(self, path: str, imported: re.Match[str]) -> str:
        """What stands in the place of an import."""
        target = _target(path, imported)
        if target in self.entries:
            if imported["whole"] or _RENAMED.search(imported["names"]):
                raise ValueError(f"{path} imports {target} under other names")
            return ""
        if imported["whole"]:
            return f"const {imported['whole']} = {_variable(target)};\n"
        names = _RENAMED.sub(r"\1: \2", imported["names"])
        return f"const {{{names}}} = {_variable(target)};\n"

    def _licence(self, path: str) -> Iterator[str]:
        """The licence of vendored code, before its first file."""
        licence = posixpath.join(posixpath.dirname(path), "LICENSE")
        if licence not in self.done and self.root.joinpath(licence).is_file():
            self.done.add(licence)
            text = _read(self.root, licence).strip()
            yield f"/*\n{posixpath.dirname(path)}:\n\n{text}\n*/\n"


def _wrapped(path: str, body: str) -> str:
    """A module as a function that returns its exports."""
    exported = _EXPORT.findall(body)
    for names in _EXPORTS.findall(body):
        exported += [name.strip() for name in names.split(",") if name.strip()]
    body = _EXPORTS.sub("", _EXPORT.sub("", body))
    start = f"// --- {path}\nconst {_variable(path)} = (() => {{\n"
    return f"{start}{body}return {{ {', '.join(exported)} }};\n}})();\n"


def _target(path: str, imported: re.Match[str]) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), imported["path"]))


def _variable(path: str) -> str:
    return "$" + re.sub(r"\W", "_", path.removesuffix(".js"))


def _read(root: Traversable, path: str) -> str:
    text = root.joinpath(path).read_text("utf-8")
    return text if text.endswith("\n") else text + "\n"


def bundle(root: Traversable, *entries: str) -> str:
    """One module that holds these and all that they import. With more entries it begins with the
    very text that it has with fewer."""
    made = _Bundle(root, entries)
    for entry in entries:
        made.add(entry)
    return "\n".join(made.parts)


def source_hash(text: str) -> str:
    """How a content security policy names a script or a style sheet."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@dataclass(frozen=True, slots=True)
class SingleFile:
    """A page with all that it needs, and the policy under which it runs."""

    html: str
    policy: str


def single_file(root: Traversable, page: str, modules: Iterable[str]) -> SingleFile:
    """The page ``page`` of ``root`` with its style sheet and its script in it; ``modules`` are the
    script's open entries. The page states its policy itself too, for when it is saved."""
    html = root.joinpath(page).read_text("utf-8")
    styles, scripts = _STYLE.findall(html), _SCRIPT.findall(html)
    entries = (*modules, *scripts)
    if (len(styles), len(scripts), html.count(_CHARSET)) != (1, 1, 1):
        raise ValueError(f"{page} must have one style sheet, one script and its charset")
    style, script = "\n" + _read(root, styles[0]), "\n" + bundle(root, *entries)
    if re.search(r"</(?:script|style)|<!--", style + script, re.I):
        raise ValueError(f"{page} has a style sheet or a script that would end too early")
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src {source_hash(script)}",
            f"style-src {source_hash(style)}",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    stated = f'{_CHARSET}<meta http-equiv="content-security-policy" content="{policy}">\n'
    html = html.replace(_CHARSET, stated)
    html = _STYLE.sub(lambda _: f"<style>{style}</style>", html)
    html = _SCRIPT.sub(lambda _: f'<script type="module">{script}</script>', html)
    return SingleFile(html, f"{policy}; frame-ancestors 'none'")

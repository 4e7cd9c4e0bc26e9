"""Mutation testing of what decides games: dice, log and rules.

    make mutants ARGS="--count 300 --seed 7"

One small change at a time is made to a module (``<`` for ``<=``, ``+`` for ``-``, ``and`` for
``or``, a number one larger ...), and the tests of that module are run against it in a process of
its own. Tests that fail, or never end, have killed the mutant. Those that survive are told with
their place; the ones that are known to change nothing are listed with the reason.
"""

import argparse
import ast
import importlib
import importlib.abc
import importlib.machinery
import os
import resource
import secrets
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from types import CodeType
from typing import Final, TypeAlias

import hypothesis
import pytest

from soak.nursery import ROOT

WANTED: Final = 0.9  # of the mutants killed
_CPU_S: Final = 60  # then it is taken to run for ever
_RULES: Final = "tests/rules/test_"
_GOLDEN: Final = "tests/test_golden.py"
_CONTRACT: Final = "tests/test_contract.py::test_games_keep_the_contract_and_end"
_PIGS: Final = (f"{_RULES}pigs.py", _GOLDEN, f"{_CONTRACT}[big-pig]")
_PUERCOS: Final = (f"{_RULES}dados_puercos.py", _GOLDEN, f"{_CONTRACT}[dados-puercos]")
_PASS: Final = (f"{_RULES}pass_the_pigs.py", _GOLDEN, f"{_CONTRACT}[pass-the-pigs]")
_DUEL: Final = (f"{_RULES}dice_duel.py", _GOLDEN, f"{_CONTRACT}[dice-duel]")
_HEAVEN: Final = (f"{_RULES}heaven_and_nine.py", _GOLDEN, f"{_CONTRACT}[heaven-and-nine]")
# Quick tests first: the first that fails is enough.
TESTS: Final[dict[str, tuple[str, ...]]] = {
    "service/dice.py": ("tests/test_dice.py", _GOLDEN),
    "service/log.py": ("tests/test_log.py", _GOLDEN),
    "service/rules/base.py": (*_PIGS, *_PUERCOS, *_DUEL, *_HEAVEN),
    "service/rules/jeopardy.py": (*_PIGS, *_PUERCOS, *_PASS),
    "service/rules/jeopardy_state.py": (*_PIGS, *_PUERCOS, *_PASS),
    "service/rules/pigs.py": _PIGS,
    "service/rules/pass_the_pigs.py": _PASS,
    "service/rules/dados_puercos.py": _PUERCOS,
    "service/rules/dados_puercos_bets.py": _PUERCOS,
    "service/rules/dados_puercos_state.py": _PUERCOS,
    "service/rules/dice_duel.py": _DUEL,
    "service/rules/dice_duel_state.py": _DUEL,
    "service/rules/heaven_and_nine.py": _HEAVEN,
    "service/rules/heaven_and_nine_state.py": _HEAVEN,
    "service/rules/heaven_and_nine_throws.py": _HEAVEN,
}

Change: TypeAlias = Callable[[], str]

_COMPARISONS: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_OPERATORS: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
}
_NAMES: Final = {"min": "max", "max": "min", "all": "any", "any": "all"}
_OTHERS: Final = (
    "alembic.command",
    "cryptography.hazmat.primitives.ciphers.aead",
    "fastapi",
    "httpx",
    "orjson",
    "psycopg",
    "pydantic_settings",
    "sqlalchemy.dialects.postgresql",
    "sqlalchemy.dialects.sqlite",
    "uvicorn",
)
# What says how a thing is declared, not what it does.
_DECLARING: Final = ("Example", "field", "ConfigDict", "Field", "TypeVar", "TypeAdapter")


@dataclass(frozen=True, slots=True)
class Mutant:
    """The change number ``place`` of a file; ``what`` tells it, at ``line``."""

    file: str
    place: int
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.what}"


# --- making them --------------------------------------------------------------------------------


def changes(tree: ast.AST) -> Iterator[tuple[ast.AST, Change]]:
    """Every change that can be made to a module, with where; calling one makes it."""
    for node in _changeable(tree):
        change = _operator(node) or _value(node)
        if change is not None:
            yield node, change


def _operator(node: ast.AST) -> Change | None:
    match node:
        case ast.Compare(ops=[op]) if type(op) in _COMPARISONS:
            return _swap(node, "ops", [_COMPARISONS[type(op)]()])
        case ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in _OPERATORS:
            return _swap(node, "op", _OPERATORS[type(op)]())
        case ast.BoolOp(op=op):
            return _swap(node, "op", ast.Or() if isinstance(op, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _swap(node, "operand", ast.UnaryOp(ast.Not(), operand))
        case ast.UnaryOp(op=ast.USub()):
            return _swap(node, "op", ast.UAdd())
    return None


def _value(node: ast.AST) -> Change | None:
    match node:
        case ast.Constant(value=bool(value)):
            return _swap(node, "value", not value)
        case ast.Constant(value=int(value)):
            return _swap(node, "value", value + 1)
        case ast.If(test=test) | ast.IfExp(test=test) if not isinstance(test, ast.Compare):
            return _swap(node, "test", ast.UnaryOp(ast.Not(), test))
        case ast.Call(func=ast.Name(id=name)) if name in _NAMES:
            return _swap(node, "func", ast.Name(_NAMES[name], ast.Load()))
    return None


def _swap(node: ast.AST, field: str, new: object) -> Change:
    def make() -> str:
        before = ast.unparse(node)
        setattr(node, field, new)
        ast.fix_missing_locations(node)
        return f"{_short(before)} -> {_short(ast.unparse(node))}"

    return make


def _short(text: str) -> str:
    return text.splitlines()[0][:70]


def _changeable(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a module that do something: no annotations, decorators or declarations."""
    match node:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in _DECLARING:
            return
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        if isinstance(node, ast.AnnAssign) and "Alias" in ast.unparse(node.annotation):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _changeable(child)


def mutated(file: str, place: int) -> tuple[ast.Module, Mutant]:
    """The module with that change made, and what it is."""
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    node, change = list(changes(tree))[place]
    line = getattr(node, "lineno", 0)
    return tree, Mutant(file, place, line, change())


def sample(count: int, seed: int, files: Sequence[str] = tuple(TESTS)) -> list[Mutant]:
    """So many mutants of these files together, in the order of files."""
    everything = [
        (file, place)
        for file in files
        for place, _ in enumerate(changes(ast.parse((ROOT / file).read_text("utf-8"))))
    ]
    chosen = Random(seed).sample(everything, min(count, len(everything)))
    chosen.sort(key=everything.index)
    return [mutated(file, place)[1] for file, place in chosen]


# --- trying them --------------------------------------------------------------------------------


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads a module with its change."""

    mutant: Mutant

    def get_code(self, fullname: str) -> CodeType:
        tree, _ = mutated(self.mutant.file, self.mutant.place)
        return compile(tree, self.path, "exec")


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, mutant: Mutant) -> None:
        self._name = mutant.file.removesuffix(".py").replace("/", ".")
        self._loader = _Loader(self._name, str(ROOT / mutant.file))
        self._loader.mutant = mutant

    def find_spec(
        self, fullname: str, path: object, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec of the one module that is changed."""
        if fullname != self._name:
            return None
        return importlib.machinery.ModuleSpec(fullname, self._loader, origin=self._loader.path)


def _load() -> None:
    """What tests import that is not ours, so that a mutant need not."""
    for name in _OTHERS:
        importlib.import_module(name)
    hypothesis.settings.register_profile(
        "mutants", max_examples=30, derandomize=True, database=None, deadline=None
    )
    hypothesis.settings.load_profile("mutants")


def _tests_pass(mutant: Mutant | None, tests: Sequence[str]) -> int:
    """In a process of its own: pytest's exit code."""
    if mutant is not None:
        sys.meta_path.insert(0, _Finder(mutant))
        resource.setrlimit(resource.RLIMIT_CPU, (_CPU_S, _CPU_S))
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):
        os.dup2(nothing, standard)
    sys.dont_write_bytecode = True
    os.chdir(ROOT)
    # What is loaded already is not rewritten; the statistics of very many dice take too long.
    quick = ("-W", "ignore:Module already imported", "-k", "not 600_000")
    options = ("-q", "-x", "--noconftest", "-p", "no:cacheprovider", "-p", "no:xdist", *quick)
    return int(pytest.main([*options, *tests]))


def _forked(mutant: Mutant | None, tests: Sequence[str]) -> int:
    """Starts it; returns its process."""
    pid = os.fork()
    if pid == 0:
        code = 2
        try:
            code = _tests_pass(mutant, tests)
        finally:
            os._exit(code)
    return pid


def survivors(chosen: Sequence[Mutant], jobs: int) -> Iterator[Mutant]:
    """The mutants that their tests do not notice, told as they are found."""
    due, running = list(reversed(chosen)), dict[int, Mutant]()
    while due or running:
        while due and len(running) < jobs:
            mutant = due.pop()
            running[_forked(mutant, TESTS[mutant.file])] = mutant
        pid, status = os.wait()
        mutant = running.pop(pid)
        if status == 0:
            print(f"survives  {mutant}", flush=True)
            yield mutant


def require_sound(files: Sequence[str]) -> None:
    """Raises RuntimeError if the tests of these files fail without any change."""
    tests = sorted({test for file in files for test in TESTS[file]})
    _, status = os.waitpid(_forked(None, tests), 0)
    if status:
        raise RuntimeError("the tests fail without any mutant")


def main() -> None:
    """Tries a sample; exit code 1 if too many survive."""
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=250)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**9))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--file", default="", help="only files with this text in their name")
    given = parser.parse_args()
    files = [file for file in TESTS if given.file in file]
    if not files:  # pytest without a name would run everything there is
        parser.error(f"no file has {given.file!r} in its name")
    chosen = sample(given.count, given.seed, files)
    began = time.monotonic()
    print(f"{len(chosen)} mutants, seed {given.seed}", flush=True)
    _load()
    require_sound(files)
    found = list(survivors(chosen, given.jobs))
    by_file = Counter(one.file for one in chosen)
    alive = Counter(one.file for one in found)
    for file, count in by_file.items():
        print(f"{count - alive[file]:>5} of {count:>4} killed  {file}")
    killed = 1 - len(found) / max(len(chosen), 1)
    seconds = time.monotonic() - began
    print(f"{killed:.1%} of {len(chosen)} killed in {seconds:.0f} s (seed {given.seed})")
    sys.exit(killed < WANTED)


if __name__ == "__main__":
    main()

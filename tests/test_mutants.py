"""Mutants of dice, log and rules can be made, killed and missed; ``make mutants`` tries many."""

import ast
import subprocess
import sys

import pytest

from soak.mutants import TESTS, changes, mutated, sample
from soak.nursery import ROOT

SEED = 2026
RUN = "import sys; from soak import mutants; {}; sys.argv = ['mutants', *{}]; mutants.main()"


def ran(*arguments: str, before: str = "pass") -> subprocess.CompletedProcess[str]:
    code = RUN.format(before, list(arguments))
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_every_file_of_rules_has_its_tests():
    rules = {path.relative_to(ROOT).as_posix() for path in (ROOT / "service/rules").glob("*.py")}
    assert rules - {"service/rules/__init__.py"} <= set(TESTS)
    for tests in TESTS.values():
        assert all((ROOT / test.partition("::")[0]).is_file() for test in tests)


@pytest.mark.parametrize("file", TESTS)
def test_a_mutant_is_another_module(file):
    sound = (ROOT / file).read_text("utf-8")
    for mutant in sample(5, SEED, [file]):
        tree, told = mutated(file, mutant.place)
        compile(tree, file, "exec")
        assert told == mutant
        assert ast.dump(tree) != ast.dump(ast.parse(sound))


@pytest.mark.parametrize(
    ("source", "made"),
    [
        ("a < b", "a <= b"),
        ("a + 1", "a - 1"),
        ("a and b", "a or b"),
        ("not a", "not not a"),
        ("x = True", "x = False"),
        ("min(a, b)", "max(a, b)"),
    ],
)
def test_a_change_is_small(source, made):
    tree = ast.parse(source)
    _, change = next(changes(tree))
    change()
    assert ast.unparse(tree) == made


@pytest.mark.parametrize(
    "source",
    ["def f(a: 1 < 2): pass", "x: int = field(init=False)", "x = (base.Example('Nine', 9, {}),)"],
)
def test_what_declares_is_left_alone(source):
    assert not list(changes(ast.parse(source)))


def test_a_mutant_that_tests_notice_is_killed():
    run = ran("--count", "1", "--seed", "8", "--file", "service/log.py")
    assert run.returncode == 0, run.stdout + run.stderr
    assert "100.0% of 1 killed" in run.stdout


def test_a_file_that_has_no_tests_is_an_error():
    run = ran("--file", "no such file")
    assert run.returncode == 2
    assert "no file has 'no such file' in its name" in run.stderr


def test_a_mutant_that_no_test_notices_is_told_and_fails_the_run():
    blind = "mutants.TESTS['service/log.py'] = ('tests/test_names.py',)"
    run = ran("--count", "1", "--seed", "8", "--file", "service/log.py", before=blind)
    assert run.returncode == 1, run.stdout + run.stderr
    assert "survives  service/log.py:" in run.stdout
    assert "0.0% of 1 killed" in run.stdout

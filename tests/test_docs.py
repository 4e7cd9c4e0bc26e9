"""What the documentation says of the code, held against the code."""

import ast
import importlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from service import dice, rules, verify
from service.api import problems, texts
from service.rules.base import Text
from service.settings import Settings
from tests.reference import option_models, with_reference

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
RULES = DOCS / "rules"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
SEED_MODES = set(verify.SEED_MODES)
ELSEWHERE = re.compile(
    r"/|.*YYYY|openapi/openapi\.json$"
)  # a path of the API, a form of names, made

every_ruleset = pytest.mark.parametrize("key", [ruleset.key for ruleset in rules.RULESETS])


def page(name: str) -> str:
    return (DOCS / name).read_text("utf-8")


def tables(text: str) -> Iterator[list[list[str]]]:
    """The rows of each Markdown table, without its head."""
    for block in re.findall(r"(?:^ *\|.*\n)+", text, re.M):
        rows = [re.split(r"(?<!\\)\|", line.strip())[1:-1] for line in block.splitlines()]
        yield [[cell.strip() for cell in row] for row in rows[2:]]


def section(text: str, title: str) -> str:
    """What stands below a heading, up to the next one."""
    found = re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^#|\Z)", text, re.M | re.S)
    assert found, f"no section {title}"
    return found[1]


# --- problems -----------------------------------------------------------------------------------


def test_problems_md_has_every_code_with_status_title_and_meaning():
    (rows,) = tables(section(page("problems.md"), "Codes"))
    told = {tuple(row[:4]) for row in rows}
    known = {
        (f"`{code}`", str(status), texts.PROBLEMS[code][0].en, texts.PROBLEMS[code][1].en)
        for code, status in problems.STATUS.items()
    }
    assert told == known
    assert all(row[4] for row in rows), "every row says what to do"


@pytest.mark.parametrize(
    ("title", "known"),
    [
        ("`reason` of `unreadable_body`", texts.READING),
        ("`reason` of `illegal_action`", texts.REASONS),
        ("`reason` of `seed_refused`", texts.SEEDS),
        ("`code` in `errors` of `invalid_input`", texts.FIELDS),
    ],
)
def test_problems_md_has_every_reason_with_its_meaning(title: str, known: Mapping[str, Text]):
    (rows,) = tables(section(page("problems.md"), title))
    assert {tuple(row) for row in rows} == {(f"`{code}`", text.en) for code, text in known.items()}


def test_every_reason_of_a_ruleset_has_its_words():
    modules = {type(ruleset).__module__ for ruleset in rules.RULESETS} | {"service.rules.jeopardy"}
    listed = [getattr(importlib.import_module(name), "REASONS", ()) for name in sorted(modules)]
    assert {reason for reasons in listed for reason in reasons} <= texts.REASONS.keys()


# --- commands -----------------------------------------------------------------------------------


def test_contributing_md_has_every_make_command():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    (rows,) = tables(section((ROOT / "CONTRIBUTING.md").read_text("utf-8"), "Set up, run, test"))
    known = set(re.findall(r"^([a-z-]+):.*## ", makefile, re.M))
    told = {word for row in rows for word in re.findall(r"`make ?([a-z-]*)", row[0])}
    assert told == (known - {"help", "clean"}) | {""}


# --- operations ---------------------------------------------------------------------------------


def test_operations_md_has_every_setting_with_its_default():
    (rows,) = tables(section(page("operations.md"), "Settings"))
    told = {row[0].strip("`"): row[1].strip("`") for row in rows}
    known = {
        f"CUBILETE_{name.upper()}": "" if field.default is None else default_of(field.default)
        for name, field in Settings.model_fields.items()
    }
    assert told == known


def default_of(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


# --- the protocol -------------------------------------------------------------------------------


def test_the_worked_example_of_fair_dice_md_is_what_both_implementations_compute():
    (block,) = re.findall(
        r"```json\n(\{\n.*?\n\})\n```", section(page("fair-dice.md"), "A worked example"), re.S
    )
    example = json.loads(block)
    chain = dice.KeyChain(bytes.fromhex(example["root"]), example["throws_max"])
    assert chain.key(1).hex() == example["k_1"]
    assert chain.commitment.hex() == example["commitment"]
    for module in (dice, verify):
        assert module.tagged_hash("chain", dice.u32(1), chain.key(1)) == chain.commitment
    context = dice.context(example["game"], chain.commitment, {})
    assert context == verify.game_context(example["game"], chain.commitment, {})
    assert context.hex() == example["context"]
    block = dice.tagged_mac(
        chain.key(1), "die", context, b"", dice.u32(1), dice.u32(0), dice.u32(0)
    )
    assert block.hex() == example["block"]
    assert int.from_bytes(block[:4], "big") == example["word"]
    assert example["word"] % 6 == example["number"]
    assert dice.faces(chain.key(1), context, 1, [dice.D6]) == (example["face"],)


def test_fair_dice_md_names_every_entry_type_with_exactly_its_fields():
    every = [row for table in tables(page("fair-dice.md")) for row in table]
    told = {row[0]: row[1] for row in every if row[0].startswith("`")}
    for kind in verify.KINDS:
        named = re.findall(r"`(\w+)`", re.sub(r"`[\[{].*?`", "", told[f"`{kind}`"]))
        assert set(named) - SEED_MODES == set(verify.FIELDS[kind]), kind


def test_every_section_that_the_code_cites_stands_in_fair_dice_md():
    numbers = set(re.findall(r"^## (\d)\. ", page("fair-dice.md"), re.M))
    assert numbers == set("123456")
    for path in sorted((ROOT / "service").rglob("*.py")):
        cited = re.findall(r"[Ss]ections? (\d)", path.read_text("utf-8"))
        assert set(cited) <= numbers, path.name


# --- rulesets -----------------------------------------------------------------------------------


@every_ruleset
def test_the_golden_reference_of_a_ruleset_is_that_of_the_code(key):
    path, ruleset = RULES / f"{key}.md", rules.ruleset(key)
    written = with_reference(path.read_text("utf-8"), ruleset)
    if os.environ.get("CUBILETE_WRITE_GOLDEN"):
        path.write_text(written, "utf-8")
    assert path.read_text("utf-8") == written, "run `make golden` and read the difference"


@every_ruleset
def test_a_rules_page_speaks_of_every_option(key):
    text = (RULES / f"{key}.md").read_text("utf-8")
    for model in option_models(rules.ruleset(key)).values():
        for name in model["properties"]:
            assert re.search(rf"\b{name}\b", text), name


def test_there_is_a_rules_page_for_every_ruleset_and_no_other():
    assert {path.stem for path in RULES.glob("*.md")} == {one.key for one in rules.RULESETS}


@every_ruleset
def test_the_readme_lists_every_ruleset(key):
    assert f"docs/rules/{key}.md" in (ROOT / "README.md").read_text("utf-8")


# --- every page ---------------------------------------------------------------------------------


def links(path: Path) -> Iterator[str]:
    for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text("utf-8")):
        if not re.match(r"https?:|#", target):
            yield target.partition("#")[0]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_link_leads_somewhere(path: Path):
    broken = [target for target in links(path) if not (path.parent / target).exists()]
    assert not broken


def named_files(text: str) -> Iterator[str]:
    """Files of the project that a page names in code; `<..>` stands for any name."""
    for name in re.findall(r"`([\w./<>-]+\.(?:py|md|json|toml|lock))`", text):
        if "/" in name and not ELSEWHERE.match(name):
            yield re.sub(r"<\w+>", "*", name)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_file_that_is_named_exists(path: Path):
    missing = [
        name
        for name in named_files(path.read_text("utf-8"))
        if not any(list(base.glob(name)) for base in (ROOT, ROOT / "service"))
    ]
    assert not missing


def test_the_floors_of_architecture_md_are_those_of_the_contract():
    """A floor that import-linter knows and the page does not would be news to a reader."""
    (rows, *_) = tables(section(page("architecture.md"), "The floors"))
    told = {name for row in rows for name in re.findall(r"`(\w+)(?:\.py|/)`", row[1])}
    contract = (ROOT / "pyproject.toml").read_text("utf-8")
    floors = contract.partition("layers = [")[2].partition("]")[0]
    known = set(re.findall(r"\((\w+)\)", floors)) - {"__main__"}
    there = {name for name in known if list((ROOT / "service").glob(f"{name}*"))}
    assert told == there | {"verify", "web"}


# --- faults and attacks -------------------------------------------------------------------------

CATALOGUE = {"A": 14, "B": 21, "C": 11, "D": 17, "E": 18, "F": 6, "G": 7}


def known_tests() -> set[str]:
    """The names of all test functions and of the classes that are tests."""
    trees = [ast.parse(path.read_text("utf-8")) for path in (ROOT / "tests").rglob("test_*.py")]
    names = {
        node.name
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assigned = {
        target.id
        for tree in trees
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return {name for name in names | assigned if name.startswith(("test_", "Test"))}


def test_security_md_has_every_fault_and_attack():
    rows = [row for rows in tables(page("security.md")) for row in rows]
    wanted = [f"{letter}{one + 1}" for letter, count in CATALOGUE.items() for one in range(count)]
    assert [row[0] for row in rows] == wanted
    assert all(what and holds for _, what, holds, _ in rows)


def test_every_row_of_security_md_names_known_tests_or_says_why_there_are_none():
    known = known_tests()
    for name, _, holds, told in (row for rows in tables(page("security.md")) for row in rows):
        tests = re.findall(r"`([^`]+)`", told)
        assert set(tests) <= known, (name, set(tests) - known)
        assert tests or holds.startswith("No test: "), name
        assert told == ", ".join(f"`{one}`" for one in tests), name

"""Games that are kept: playthroughs to read, and recorded logs that must replay for ever."""

from pathlib import Path

import pytest

from service import rules, verify
from service.replay import audit, replay
from tests.golden import recorded
from tests.golden.make import PLAYTHROUGHS
from tests.golden.playthrough import playthrough
from tests.independent_replay import played_again
from tests.played import Rules

KEYS = sorted({ruleset.key for ruleset in rules.RULESETS})
LOGS = sorted(recorded.LOGS.glob("*.jsonl"))
every_ruleset = pytest.mark.parametrize(
    "ruleset", rules.RULESETS, ids=lambda one: f"{one.key}-v{one.version}"
)
every_log = pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)


@pytest.mark.parametrize("key", KEYS)
def test_every_ruleset_has_a_playthrough_and_plays_it_still(key: str) -> None:
    path = PLAYTHROUGHS / f"{key}.txt"
    assert path.exists(), f"{key} has no playthrough: run make golden"
    same = path.read_text("utf-8") == playthrough(key)
    assert same, f"{key} plays otherwise: run make golden, and read the difference"


def test_no_playthrough_is_left_over() -> None:
    assert sorted(path.stem for path in PLAYTHROUGHS.iterdir()) == KEYS


@every_ruleset
def test_recorded_games_show_every_option_action_event_and_seed_mode(ruleset: Rules) -> None:
    assert recorded.of(ruleset), f"no recorded game of {ruleset.key}: run make golden"
    assert not recorded.missing(ruleset)


@every_log
def test_a_recorded_game_is_named_by_its_ruleset_and_version(path: Path) -> None:
    setup = replay(recorded.lines_of(path)[:1]).setup
    assert path.stem.startswith(f"{setup.ruleset.key}-v{setup.ruleset.version}-")


@every_log
def test_a_recorded_game_is_decided_again_as_it_was(path: Path) -> None:
    lines = recorded.lines_of(path)
    game = audit(lines)
    assert game.status == "finished"
    assert played_again(lines) == game.state


@every_log
def test_a_recorded_game_is_verified(path: Path) -> None:
    report = verify.verify_log(path.read_bytes(), claim="finished")
    assert report.ok, report.verdict()

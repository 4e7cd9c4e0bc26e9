"""Playing at the terminal: what is drawn and told, what may be typed, and the log that stays."""

import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from string import Formatter
from typing import Any

import pytest

from service import rules, verify
from service.errors import BadSetting
from service.rules.base import Text, kind_of
from service.terminal import Wanted, drawing, play, texts
from service.terminal.drawing import Shown
from service.terminal.telling import Teller

ROOT = Path(__file__).resolve().parents[1]
SEED = "5eed" * 16
ENOUGH = 50_000  # lines after which a game that goes on is stuck
# Said over and over, this plays every game to its end: what is not legal is refused in words.
EN = ("roll", "hold", "bet 1", "limit 1", "reroll 1", "resolve", "tiebreak")
ES = ("tirar", "plantarse", "apostar 1", "limite 1", "repetir 1", "resolver", "desempatar")

every_ruleset = pytest.mark.parametrize("key", [ruleset.key for ruleset in rules.RULESETS])


def typed(*lines: str) -> Iterator[str]:
    return iter([f"{line}\n" for line in lines])


def over_and_over(lines: tuple[str, ...]) -> Iterator[str]:
    return islice(cycle(lines), ENOUGH)


def cubilete(
    *arguments: str, given: str = "", **variables: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "service", *arguments],
        cwd=ROOT,
        env={"PYTHONUTF8": "1", "LANG": "C", **variables},
        input=given,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


def teller(key: str = "dice-duel") -> Teller:
    ruleset = rules.ruleset(key)
    dice = ruleset.dice(ruleset.parse_options({}, 2), 2)
    return Teller("en", ["Ana", "Ben"], dice, ruleset.glossary())


@pytest.fixture
def session(capsys: pytest.CaptureFixture[str]) -> Any:
    """Plays with these lines and returns the exit code and what was printed."""

    def run(key: str, *lines: str, language: str = "en", **wanted: Any) -> tuple[int, str]:
        players = wanted.pop("players", ("Ana", "Ben"))
        asked = Wanted(key, players, language=language, **wanted)
        code = play(asked, typed(*lines))
        return code, capsys.readouterr().out

    return run


# --- dice ---------------------------------------------------------------------------------------

FACES = """
┌───────┐ ┌───────┐ ┌───────┐ ┌───────┐ ┌───────┐ ┌───────┐
│       │ │ ●     │ │ ●     │ │ ●   ● │ │ ●   ● │ │ ●   ● │
│   ●   │ │       │ │   ●   │ │       │ │   ●   │ │ ●   ● │
│       │ │     ● │ │     ● │ │ ●   ● │ │ ●   ● │ │ ●   ● │
└───────┘ └───────┘ └───────┘ └───────┘ └───────┘ └───────┘
"""


def test_all_six_faces_stand_side_by_side():
    assert "\n".join(drawing.dice((1, 2, 3, 4, 5, 6))) == FACES.strip("\n")


@pytest.mark.parametrize("number", range(1, 7))
def test_a_face_has_as_many_pips_as_its_number(number):
    assert "".join(drawing.face(number)).count("●") == number


def test_dice_to_mark_carry_their_numbers_below_them():
    assert drawing.dice((6, 2), numbered=True)[-1].split() == ["1", "2"]


def test_a_die_without_pips_is_named():
    assert drawing.dice(("razorback", "trotter")) == ["[razorback]  [trotter]"]


def test_the_throws_of_a_table_stand_beside_each_other_under_the_names():
    first, *_, last = drawing.throws([Shown("Ana", (1,)), Shown("Ben", (2,))])
    assert first == "Ana         Ben"
    assert last == "└───────┘   └───────┘"


def test_more_throws_than_fit_go_on_below():
    lines = drawing.throws([Shown(name, (6, 6, 6)) for name in ("Ana", "Ben", "Cai")], width=70)
    assert lines[0].split() == ["Ana", "Ben"]
    assert lines[6] == "Cai"
    assert max(map(drawing.columns, lines)) <= 70


def test_wide_characters_and_accents_keep_the_columns_straight():
    title, top, *_ = drawing.throws([Shown("天地", (1,)), Shown("Ben", (2,))])
    assert title.index("Ben") + 2 == top.rindex("┌")  # two characters of two columns each
    assert drawing.columns("Çai") == drawing.columns("Çai") == 3


def test_a_terminal_that_knows_ascii_only_is_shown_ascii():
    ended = cubilete(
        "play", "pig", "--option", "target=2", "--option", "starter=seat",
        given="roll\nhold\n" * 50, PYTHONUTF8="0", PYTHONIOENCODING="ascii:strict",
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert "+-------+" in ended.stdout
    assert ended.stdout.isascii()


# --- whole games --------------------------------------------------------------------------------


@every_ruleset
def test_a_game_is_played_from_a_pipe_and_its_log_verifies(key, tmp_path):
    log = tmp_path / "game.jsonl"
    players = [part for name in ("Ana", "Ben", "Çağla") for part in ("--player", name)]
    given = "\n".join(islice(cycle(EN), 20_000)) + "\n"
    ended = cubilete("play", key, *players, "--log", str(log), given=given)
    assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr
    report = verify.verify(log.read_bytes(), claim="finished")
    assert report.ok, report.text()
    *_, before, root, saved = ended.stdout.rstrip().splitlines()
    assert re.fullmatch("Commitment: [0-9a-f]{64}", before)
    assert root.removeprefix("Root: ") in log.read_text().splitlines()[-1]
    assert saved.endswith(f"cubilete verify {log}")


@every_ruleset
@pytest.mark.parametrize("language", ["es", "en"])
def test_every_game_is_told_to_its_end(key, language, capsys):
    names = ("Ana", "Ben")
    lines = over_and_over(ES if language == "es" else EN)
    assert play(Wanted(key, names, seed=SEED, language=language), lines) == 0
    told = capsys.readouterr().out
    assert re.search("^Gana" if language == "es" else "^(Ana|Ben|Ana, Ben) win", told, re.M)
    assert not re.search(r"[{}]|\bseat\b|\bNone\b", told)


@pytest.mark.parametrize(
    ("key", "options"),
    [
        ("dados-puercos", ["mode=turns", "bets=4", "tie=playoff", "dice=3"]),
        ("dados-puercos", ["mode=rounds", "stake=5", "target=40"]),
        ("dice-duel", ['format={"first_to_lose": 1}', "press=host"]),
        ("dice-duel", ['penalty={"kind": "truth", "deck": ["¿Quién?", "¿Dónde?"]}']),
        ("heaven-and-nine", ["cover=proportional", "bankroll=4", "starter=random"]),
        ("big-pig", ["target=30", "starter=random", "double_one=25_bank"]),
    ],
)
def test_games_with_other_options_are_played_too(key, options, capsys):
    wanted = Wanted(key, ("Ana", "Ben", "Cai"), options, language="en")
    assert play(wanted, over_and_over(EN)) == 0
    assert not re.search(r"[{}]|\bseat\b|\bNone\b", capsys.readouterr().out)


# --- what may be typed --------------------------------------------------------------------------


def big_pig(session: Any, *lines: str, language: str = "en") -> str:
    options = ["starter=seat"]
    return str(session("big-pig", *lines, "quit", options=options, language=language)[1])


def duel(session: Any, *lines: str, language: str = "en", **options: str) -> str:
    given = [f"{name}={value}" for name, value in options.items()]
    return str(session("dice-duel", *lines, "quit", options=given, language=language)[1])


@pytest.mark.parametrize("word", ["roll", "ROLL", "r", " ro "])
def test_the_beginning_of_a_word_does(session, word):
    assert "┌" in big_pig(session, word)


@pytest.mark.parametrize("word", ["tirar", "TIRA", "t", "roll"])
def test_spanish_words_and_whole_english_ones_do_in_spanish(session, word):
    assert "┌" in big_pig(session, word, language="es")


def test_accents_need_not_be_typed(session):
    told = session("heaven-and-nine", "limite 7", "salir", language="es")[1]
    assert "el límite en 7" in told


def test_a_refusal_is_told_in_words(session):
    assert "Nothing has been rolled yet" in big_pig(session, "hold")
    assert "Antes hay que tirar" in big_pig(session, "plantarse", language="es")


def test_what_is_not_understood_is_answered_with_what_can_be_typed(session):
    assert "Not understood. Try: ?, roll, quit." in big_pig(session, "dance")


def test_an_ambiguous_beginning_is_asked_back(session):
    told = duel(session, "roll", "hold", "hold", "re", press="anyone")
    assert "Which one: reroll, resolve?" in told


def test_dice_are_marked_by_their_numbers(session):
    told = duel(session, "roll", "reroll 1 3", "Ben: reroll 2")
    assert "Ana marks 1 3." in told
    assert "Ben marks 2." in told


@pytest.mark.parametrize("line", ["reroll", "reroll 4", "reroll 0", "reroll one"])
def test_dice_that_are_not_there_can_not_be_marked(session, line):
    assert "Say which dice, 1 to 3" in duel(session, "roll", line)


def test_another_player_may_be_named_by_name_or_place(session):
    told = duel(session, "roll", "ben: hold", "1: hold")
    assert "Ben keeps all dice." in told
    assert "Ana keeps all dice." in told


@pytest.mark.parametrize("name", ["Zoe", "3", ""])
def test_a_player_who_is_not_there_is_asked_back(session, name):
    assert "Who? Ana, Ben." in duel(session, f"{name}: roll")


def test_who_is_not_on_turn_is_told_so(session):
    assert "The game waits for another seat." in big_pig(session, "Ben: roll")


@pytest.mark.parametrize("line", ["bet", "bet much", "bet 5 6", "bet -1", "bet " + "9" * 5000])
def test_an_amount_is_one_whole_number(session, line):
    told = session("dados-puercos", line, "quit", options=["mode=turns", "starter=seat"])[1]
    assert "Say how much, as in “bet 1”." in told


def test_an_amount_beyond_the_chips_is_refused(session):
    told = session("dados-puercos", "bet 101", "quit", options=["mode=turns", "starter=seat"])[1]
    assert "The amount is too high." in told


def test_the_only_possible_amount_may_be_left_out(session):
    options = ["mode=turns", "starter=seat"]
    told = session("dados-puercos", "bet 7", "bet", "quit", options=options)[1]
    assert "Ben bets 7." in told


def test_nothing_may_follow_a_word_that_takes_nothing(session):
    assert "“roll” takes nothing after it." in big_pig(session, "roll 2")


def test_to_resign_takes_the_whole_word(session):
    assert "resigns" not in big_pig(session, "res", "resig")
    told = big_pig(session, "resign")
    assert "Ana resigns." in told
    assert "Ben wins: nobody else is left." in told


def test_help_tells_the_rules_and_every_action(session):
    told = big_pig(session, "?")
    assert rules.ruleset("big-pig").summary.en in told
    assert all(re.search(f"^  {word} ", told, re.M) for word in ("roll", "hold", "resign"))


def test_the_table_is_shown_again_only_after_it_has_changed(session):
    assert big_pig(session, "dance", "?", "", "hold").count("round 1") == 1


# --- how it ends --------------------------------------------------------------------------------


def test_an_interrupt_leaves_the_game_politely(capsys):
    def interrupted() -> Iterator[str]:
        yield "roll\n"
        raise KeyboardInterrupt

    assert play(Wanted("pig", language="en"), interrupted()) == 1
    assert "The game is left unfinished." in capsys.readouterr().out


def test_quit_ends_with_0_and_the_end_of_the_input_with_1(session):
    assert session("pig", "quit")[0] == 0
    assert session("pig", "roll")[0] == 1


@pytest.mark.parametrize("lines", [("roll", "quit"), ("roll",)])
def test_a_game_that_is_left_reveals_its_root_and_verifies_as_abandoned(session, lines, tmp_path):
    log = tmp_path / "game.jsonl"
    told = session("pig", *lines, log=log)[1]
    report = verify.verify(log.read_bytes(), claim="abandoned")
    assert report.ok, report.text()
    assert re.search("^Root: [0-9a-f]{64}$", told, re.M)


def test_a_seed_makes_a_practice_game_with_that_root(session):
    told = session("pig", "quit", seed=SEED)[1]
    assert "practice" in told
    assert f"Root: {SEED}" in told


def test_names_do_not_stand_in_the_log(session, tmp_path):
    log = tmp_path / "game.jsonl"
    session("pig", "quit", log=log, players=("Ada Lovelace", "Ben"))
    assert "Lovelace" not in log.read_text()


def test_the_language_is_that_of_the_environment(monkeypatch, session):
    for name in ("LC_ALL", "LC_MESSAGES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", "es_MX.UTF-8")
    assert "Compromiso" in session("pig", "salir", language=None)[1]
    monkeypatch.setenv("LANG", "fr_FR.UTF-8")
    assert "Commitment" in session("pig", "quit", language=None)[1]


# --- what can't be played -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        (Wanted("pgi"), "there is no ruleset pgi; there are pig, "),
        (Wanted("pig", ["Ana"]), "--player: At least 2 are needed."),
        (Wanted("big-pig", ["A", "B", "C", "D", "E"]), "--player: At most 4 are allowed."),
        (Wanted("pig", ["A", "a"]), "--player: two names are the same"),
        (Wanted("pig", ["A", ""]), "--player: a name has 1 to 40"),
        (Wanted("pig", options=["target"]), "--option target: write name=value"),
        (Wanted("pig", options=["target=0"]), "--option target: The least is 1."),
        (Wanted("pig", options=["target=NaN"]), "--option target: The JSON type"),
        (Wanted("pig", options=["targt=5"]), "--option targt: pig has no such option; it has targ"),
        (Wanted("pig", options=["target=5", "target=6"]), "--option target: given twice"),
        (Wanted("dados-puercos", options=["stake=101"]), "--option stake: Nobody holds that much"),
        (Wanted("dados-puercos", options=["bets=3"]), "--option bets: There is an unknown field."),
        (Wanted("dice-duel", options=['format={"best_of": 4}']), "--option format.best_of: "),
        (Wanted("pig", seed="5eed"), "--seed: 64 lowercase hex digits are needed"),
        (Wanted("pig", language="fr"), "--language: es or en"),
        (Wanted("pig", log=Path("no/such/place")), "--log no/such/place: No such file or dir"),
    ],
)  # fmt: skip
def test_what_can_not_be_played_is_told_in_one_line(wanted, told, monkeypatch):
    monkeypatch.setenv("LC_ALL", "C")
    with pytest.raises(BadSetting) as wrong:
        play(wanted, typed("quit"))
    assert str(wrong.value).startswith(told)
    assert "\n" not in str(wrong.value)


def test_the_command_ends_with_2_and_that_line_on_stderr():
    ended = cubilete("play", "pig", "--option", "target=0")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == "cubilete: --option target: The least is 1.\n"


def test_an_existing_file_is_never_written_over(tmp_path):
    log = tmp_path / "game.jsonl"
    log.write_text("an older game")
    with pytest.raises(BadSetting, match="File exists"):
        play(Wanted("pig", log=log), typed("quit"))
    assert log.read_text() == "an older game"


# --- the texts ----------------------------------------------------------------------------------


def places(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


def every_text() -> Iterator[tuple[str, Text]]:
    tables = (texts.PHRASES, texts.LABELS, texts.REASONS, texts.EVENTS, texts.FACES, texts.WRONG)
    for table in tables:
        yield from table.items()
    for kind, (word, does) in texts.ACTIONS.items():
        yield from ((kind, word), (kind, does))


@pytest.mark.parametrize(("name", "text"), [*every_text()])
def test_a_text_has_the_same_places_in_both_languages(name, text):
    assert places(text.es) == places(text.en)
    assert bool(text.es) == bool(text.en)


@every_ruleset
def test_every_action_has_a_word_and_every_event_a_sentence(key):
    ruleset = rules.ruleset(key)
    assert {kind_of(action) for action in ruleset.actions} <= texts.ACTIONS.keys()
    told = {kind.partition("/")[0] for kind in texts.EVENTS}
    assert {kind_of(event) for event in ruleset.events} <= told


@every_ruleset
def test_every_face_that_is_a_text_has_a_name(key):
    ruleset = rules.ruleset(key)
    dice = ruleset.dice(ruleset.parse_options({}, 2), 2)
    named = {face for die in dice.values() for face in die.faces if isinstance(face, str)}
    assert named <= texts.FACES.keys()


def test_an_event_without_a_sentence_is_told_by_its_fields():
    event = {"kind": "hat_eaten", "seat": 1, "hats": 2}
    assert teller().event(event) == "hat eaten: seat Ben, hats 2"


def test_throws_are_called_what_the_ruleset_calls_them():
    event = {"kind": "rolled", "seat": 1, "faces": [1, 3], "series": "civil", "counts": True}
    assert teller("heaven-and-nine").event(event) == "Ben: 1-3 Harmony."
    assert teller("pig").event(event) == "Ben: 1-3."


@pytest.mark.parametrize(
    ("event", "told"),
    [
        ({"kind": "settled", "seat": 0, "stake": 5, "won": 5}, "Ana wins 5."),
        ({"kind": "settled", "seat": 0, "stake": 5, "won": -5}, "Ana loses 5."),
        ({"kind": "settled", "seat": 0, "stake": 5, "won": 0}, "Ana takes 5 back."),
        ({"kind": "chose", "seat": 1, "mask": [True, False, True]}, "Ben marks 1 3."),
        ({"kind": "round_ended", "round": 2, "results": [4, -4]}, "Round 2 ends: Ana +4, Ben -4."),
        ({"kind": "covered", "amounts": [0, 3], "returned": [0, 2]},
         "The bank covers Ben 3; back goes Ben 2."),
        ({"kind": "busted", "seat": 0, "lost": 9, "cry": "piggen-sït!"},
         "piggen-sït! Ana loses the turn (9)."),
        ({"kind": "tiebreak_rolled", "seats": [1, 0], "faces": [[1, 2], [3, 4]]},
         "Tie-break: Ben 1-2, Ana 3-4."),
    ],
)  # fmt: skip
def test_an_event_is_told_with_names_and_signs(event, told):
    assert teller().event(event) == told

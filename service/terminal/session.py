"""One game at the terminal: actions are asked for one by one, the log is written as it grows.

The log is that of any other game, so ``cubilete verify`` checks it.
"""

import io
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

import typer

from service import keys, rules, steps
from service.api.texts import FIELDS, PROBLEMS
from service.api.texts import REASONS as REFUSED
from service.dice import KeyChain
from service.errors import BadSetting, IllegalAction, InvalidInput, Refusal, RulesetNotFound
from service.game import Game, Player, SeedMode
from service.log import jsonl, parse
from service.names import canonical_name, folded
from service.rules.base import Ruleset
from service.steps import Step
from service.terminal import drawing
from service.terminal.commands import Ask, NotUnderstood, understood
from service.terminal.telling import Teller
from service.terminal.texts import ACTIONS, PHRASES, WRONG, Language, spoken

_SEED: Final = re.compile(r"[0-9a-f]{64}")
_SEATS: Final = 2


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the command line asks for; ``options`` are texts of the form name=value."""

    ruleset: str
    players: Sequence[str] = ()
    options: Sequence[str] = ()
    seed: str | None = None
    log: Path | None = None
    language: str | None = None


def play(wanted: Wanted, lines: Iterator[str] | None = None) -> int:
    """Plays one game; returns the exit code: 0 after its end or ``quit``, 1 if the input ended
    before. Raises BadSetting, in one line, for what can't be played."""
    language = _language(wanted.language)
    ruleset = _ruleset(wanted.ruleset, language)
    names = _names(wanted.players, language)
    options = _options(ruleset, wanted.options, len(names), language)
    root = _root(wanted.seed, language)
    mode: SeedMode = "operator" if wanted.seed is None else "practice"
    chain = KeyChain(root, ruleset.throws_max(options, len(names)))
    at = _now()
    step = steps.create(
        keys.new_game_id(at, os.urandom), ruleset, options, len(names), mode, chain, at
    )
    with _Log(wanted.log, language) as log:
        table = _Table(step, chain, names, language, log)
        return table.play(_typed() if lines is None else lines)


def _now() -> int:
    return time.time_ns() // 1_000_000


# --- what the command line asks for -------------------------------------------------------------


def _wrong(language: Language, what: str, /, **fields: object) -> BadSetting:
    return BadSetting(spoken(language, WRONG[what]).format(**fields))


def _language(given: str | None) -> Language:
    """The language asked for, else that of the environment: Spanish if it says so."""
    if given not in (None, "es", "en"):
        raise BadSetting(WRONG["language"].en)
    names = ("LC_ALL", "LC_MESSAGES", "LANG")
    said = given or next((os.environ[name] for name in names if os.environ.get(name)), "")
    return "es" if said.startswith("es") else "en"


def _ruleset(key: str, language: Language) -> Ruleset[Any, Any, Any]:
    try:
        return rules.ruleset(key)
    except RulesetNotFound:
        known = ", ".join(ruleset.key for ruleset in rules.RULESETS)
        raise _wrong(language, "ruleset", key=key, keys=known) from None


def _names(players: Sequence[str], language: Language) -> list[str]:
    if not players:
        numbers = range(1, _SEATS + 1)
        return [spoken(language, PHRASES["seat"]).format(number=number) for number in numbers]
    try:
        names = [canonical_name(player) for player in players]
    except ValueError:
        raise _wrong(language, "name") from None
    if len({folded(name) for name in names}) < len(names):
        raise _wrong(language, "names")
    return names


def _options(
    ruleset: Ruleset[Any, Any, Any], given: Sequence[str], seats: int, language: Language
) -> Any:
    values = _values(given, language)
    known = _option_names(ruleset.options_schema())
    for name in values:
        if name not in known:
            told = ", ".join(known)
            raise _wrong(language, "option_name", name=name, key=ruleset.key, names=told)
    try:
        return ruleset.parse_options(values, seats, at="", hotseat=True)
    except InvalidInput as refusal:
        first = refusal.errors[0]
    detail = spoken(language, FIELDS[first.code]).format(**dict(first.params))
    if first.pointer == "/seats":
        raise _wrong(language, "seats", detail=detail)
    # A name that only another mode knows is told without a pointer.
    name = first.pointer.strip("/").replace("/", ".") or ", ".join(values)
    raise _wrong(language, "option", name=name, detail=detail)


def _option_names(schema: Mapping[str, Any]) -> list[str]:
    """The options that a JSON Schema knows, in any of its branches."""
    models = [schema["$defs"][one["$ref"].rpartition("/")[2]] for one in schema.get("oneOf", ())]
    return list(dict.fromkeys(name for one in models or [schema] for name in one["properties"]))


def _values(given: Sequence[str], language: Language) -> dict[str, Any]:
    """``name=value`` pairs; a value that is no JSON is a text."""
    values: dict[str, Any] = {}
    for pair in given:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise _wrong(language, "option_form", given=pair)
        if name in values:
            raise _wrong(language, "option_twice", name=name)
        try:
            values[name] = json.loads(text, parse_constant=str)
        except (ValueError, RecursionError):
            values[name] = text
    return values


def _root(seed: str | None, language: Language) -> bytes:
    if seed is None:
        return os.urandom(32)
    if not _SEED.fullmatch(seed):
        raise _wrong(language, "seed")
    return bytes.fromhex(seed)


# --- input, output, log -------------------------------------------------------------------------


def _typed() -> Iterator[str]:
    """The lines of the standard input; repeated where they come from a pipe, so that what was
    printed reads like a session."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")
    for line in sys.stdin:
        if not sys.stdin.isatty():
            typer.echo(line.rstrip("\n"))
        yield line


def _say(line: str = "", end: bool = True) -> None:
    """Prints a line; what the terminal can't show is drawn in ASCII or replaced."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        line.encode(encoding)
    except UnicodeEncodeError:
        line = drawing.plain(line).encode(encoding, "replace").decode(encoding)
    typer.echo(line, nl=end)


class _Log:
    """The log's file, if one is wanted: never an existing one, and written line by line."""

    def __init__(self, path: Path | None, language: Language) -> None:
        self.path = path
        self._language = language
        self._file: IO[bytes] | None = None
        self._try(lambda: None if path is None else self._open(path))

    def _open(self, path: Path) -> None:
        self._file = path.open("xb", buffering=0)

    def write(self, lines: Sequence[bytes]) -> None:
        """Adds these lines."""
        file = self._file
        if file is not None:
            self._try(lambda: file.write(jsonl(lines)))

    def _try(self, do: Callable[[], object]) -> None:
        try:
            do()
        except OSError as error:
            raise _wrong(self._language, "log", path=self.path, detail=error.strerror) from None

    def __enter__(self) -> "_Log":
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()


# --- the game -----------------------------------------------------------------------------------


class _Table:
    """The players at one keyboard and their game."""

    def __init__(
        self, step: Step, chain: KeyChain, names: Sequence[str], language: Language, log: _Log
    ) -> None:
        self._chain = chain
        self._names = names
        self._log = log
        setup = step.game.setup
        self._teller = Teller(language, names, setup.dice, setup.ruleset.glossary())
        self._shown = -1  # the version that the table was last shown at
        self._game = self._taken(step)

    def play(self, lines: Iterator[str]) -> int:
        """From the first line to the last."""
        self._open()
        code = 0
        while self._game.status == "playing":
            line = self._next(lines)
            if line is None:
                _say()
                code = 1
                self._leave()
            else:
                self._answer(line)
        self._close()
        return code

    def _open(self) -> None:
        game, say = self._game, self._teller
        title = say.text(game.ruleset.title)
        _say(say.phrase("opened", title=title, names=", ".join(self._names)))
        _say(say.phrase("commitment", commitment=game.setup.commitment.hex()))
        if game.setup.seed_mode == "practice":
            _say(say.phrase("practice"))
        _say(say.phrase("ask_help"))
        for seat in range(game.setup.seats):
            self._take(steps.join(self._game, seat, Player("human", None), _now()))
        self._take(steps.start(self._game, self._chain, _now()))

    def _close(self) -> None:
        game, say = self._game, self._teller
        told = [say.phrase("abandoned")] if game.outcome is None else say.outcome(game.outcome)
        for line in told:
            _say(line)
        _say(say.phrase("commitment", commitment=game.setup.commitment.hex()))
        _say(say.phrase("root", root="" if game.root is None else game.root.hex()))
        if self._log.path is not None:
            _say(say.phrase("saved", path=self._log.path))

    def _taken(self, step: Step) -> Game:
        """The game after a step that is written down."""
        self._log.write(step.lines)
        return step.game

    def _take(self, step: Step) -> None:
        self._game = self._taken(step)
        for line in step.lines:
            entry = parse(line)
            if entry.type == "acted":
                for told in self._teller.acted(entry.data):
                    _say(told)

    def _leave(self) -> None:
        self._take(steps.abandon(self._game, self._chain, _now(), "quit"))

    # -- one action ------------------------------------------------------------------------------

    def _asked(self) -> int | None:
        """The seat that is asked: the first that the game waits for, else the table's host."""
        waiting = self._game.to_act()
        return waiting[0] if waiting else None

    def _next(self, lines: Iterator[str]) -> str | None:
        """What is typed after the table is shown; null if nothing more comes."""
        seat = self._asked()
        if self._shown != self._game.version:
            self._show(seat)
            self._shown = self._game.version
        choices = self._teller.choices(self._game.legal(), seat)
        _say(f"{self._teller.name(seat)} ({choices}): ", end=False)
        try:
            return next(lines, None)
        except KeyboardInterrupt:
            return None

    def _show(self, seat: int | None) -> None:
        """The table in one line, and the dice from which the seat may choose."""
        game = self._game
        view: Mapping[str, Any] = game.ruleset.view(game.state)
        _say()
        _say(self._teller.state(view))
        if any(one.seat == seat and one.dice is not None for one in game.legal()):
            for line in self._teller.dice_of(seat, view):
                _say(line)

    def _answer(self, line: str) -> None:
        try:
            command = understood(line, self._game, self._asked(), self._names, self._teller)
        except NotUnderstood as unclear:
            _say(str(unclear))
            return
        if isinstance(command, Ask):
            self._act(command)
        elif command == "help":
            self._help()
        elif command == "quit":
            self._leave()

    def _act(self, asked: Ask) -> None:
        try:
            self._take(steps.act(self._game, asked.seat, asked.action, self._chain, _now()))
        except Refusal as refusal:
            told = PROBLEMS[refusal.code][1]
            if isinstance(refusal, IllegalAction):
                told = REFUSED.get(refusal.reason, told)
            _say(self._teller.text(told))

    def _help(self) -> None:
        say, ruleset = self._teller, self._game.ruleset
        _say(say.text(ruleset.summary))
        _say(say.phrase("help_actions"))
        for action in ruleset.actions:
            word, does = ACTIONS[rules.base.kind_of(action)]
            _say(f"  {say.text(word):<12} {say.text(does)}")
        _say(say.phrase("help_others"))
        _say(say.phrase("help_end"))

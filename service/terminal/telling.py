"""Tells a game in words: its throws, events, state, choices and end, in one language."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from service.dice import D6, Die, Face
from service.rules.base import LegalAction, Outcome, Text
from service.terminal import drawing
from service.terminal.drawing import Shown
from service.terminal.texts import (
    ACTIONS,
    EVENTS,
    FACES,
    LABELS,
    PHRASES,
    REASONS,
    Language,
    spoken,
)

_SEAT_DIE: Final = "seat"  # its faces are seats
_SEATS: Final = ("seat", "to", "banker")  # fields that hold one seat
_LISTS: Final = ("seats", "tied", "playoff", "out")  # fields that hold several
_SIGNED: Final = ("results",)
_BETWEEN: Final = " · "


class Teller:
    """Speaks of one game. ``names`` are the players', by seat; ``dice`` those of its setup;
    ``glossary`` what its ruleset calls throws."""

    def __init__(
        self,
        language: Language,
        names: Sequence[str],
        dice: Mapping[str, Die],
        glossary: Iterable[Mapping[str, Any]],
    ) -> None:
        self._language = language
        self._names = names
        self._dice = dice
        self._figures = {_lying(each["faces"]): each["names"][language] for each in glossary}

    def text(self, text: Text, /, **fields: object) -> str:
        """A text in the game's language, with its places filled."""
        return spoken(self._language, text).format(**fields)

    def phrase(self, name: str, /, **fields: object) -> str:
        """One of ``PHRASES``."""
        return self.text(PHRASES[name], **fields)

    def name(self, seat: int | None) -> str:
        """The player's name; the table's for null."""
        return self.phrase("table") if seat is None else self._names[seat]

    # -- what has happened -----------------------------------------------------------------------

    def acted(self, data: Mapping[str, Any]) -> list[str]:
        """The lines of an ``acted`` entry: its throws drawn, its events in words."""
        shown = [self._thrown(throw) for throw in data["throws"]]
        events = (self.event(event) for event in data["events"])
        return [*(drawing.throws(shown) if shown else ()), *(line for line in events if line)]

    def _thrown(self, throw: Mapping[str, Any]) -> Shown:
        pairs = zip(throw["dice"], throw["faces"], strict=True)
        return Shown(self.name(throw["seat"]), tuple(self._face(die, face) for die, face in pairs))

    def _face(self, die: str, face: Face) -> Face:
        """A pip count, or what the face is called."""
        if self._dice[die].faces == D6.faces:
            return face
        if die == _SEAT_DIE:
            return self._names[int(face)]
        if isinstance(face, int):
            return str(face + 1)
        return self.text(FACES[face]) if face in FACES else face

    def event(self, event: Mapping[str, Any]) -> str:
        """One event as a sentence; empty if another line says it. A kind that has no sentence is
        told by its fields."""
        kind = event["kind"] + _variant(event)
        fields = {name: self._value(name, value, event) for name, value in event.items()}
        if kind in EVENTS:
            figure = self._figure(event.get("faces", ()))
            return self.text(EVENTS[kind], **{"figure": figure, **fields})
        told = (f"{name} {value}" for name, value in fields.items() if name != "kind")
        return f"{event['kind'].replace('_', ' ')}: {', '.join(told)}"

    def _value(self, name: str, value: Any, event: Mapping[str, Any]) -> str:
        if name in _SEATS:
            return self.name(value)
        if name in _LISTS:
            return self._joined(value)
        if name == "mask":
            return " ".join(str(number) for number, marked in enumerate(value, 1) if marked)
        if not isinstance(value, list):
            return str(value)
        if not _nested(value) and name == "faces":
            return _dashed(value)
        return self._by_seat(name, value, event.get("seats"))

    def _joined(self, seats: Iterable[int]) -> str:
        return ", ".join(map(self.name, seats))

    def _by_seat(self, name: str, values: Sequence[Any], seats: Sequence[int] | None) -> str:
        """“Ana 5, Ben 7”: only seats that have a value, and in amounts only those with chips."""
        counts = name in ("sums", "wins", "losses", "scores", "chips")
        pairs = zip(range(len(values)) if seats is None else seats, values, strict=True)
        told = [
            f"{self.name(seat)} {_figures(name, value)}"
            for seat, value in pairs
            if value or (counts and value is not None)
        ]
        return ", ".join(told)

    def _figure(self, faces: Sequence[Face]) -> str:
        """A throw and, where the ruleset has a name for it, what it is called."""
        return f"{_dashed(faces)} {self._figures.get(_lying(faces), '')}".rstrip()

    # -- what stands -----------------------------------------------------------------------------

    def state(self, view: Mapping[str, Any]) -> str:
        """The table in one line."""
        parts = []
        for name, label in LABELS.items():
            value = view.get(name)
            if value in (None, 0, False, [], ()):  # nothing to tell
                continue
            told = self._field(name, value)
            if told is not None:
                parts.append(f"{spoken(self._language, label)} {told}".rstrip())
        return _BETWEEN.join(parts)

    def _field(self, name: str, value: Any) -> str | None:
        if value is True:
            return ""
        if isinstance(value, Mapping) and "faces" in value:
            return self._figure(value["faces"])
        return self._value(name, value, {}) or None

    def dice_of(self, seat: int | None, view: Mapping[str, Any]) -> list[str]:
        """The dice that a seat may mark, numbered."""
        faces = view.get("faces")
        if seat is None or not faces or not faces[seat]:
            return []
        return drawing.throws([Shown(self.name(seat), tuple(faces[seat]), numbered=True)])

    def choices(self, legal: Iterable[LegalAction], seat: int | None) -> str:
        """What a seat may type."""
        return ", ".join(self.choice(one) for one in legal if one.seat == seat)

    def choice(self, one: LegalAction) -> str:
        """The word for an action and the bounds of what follows it."""
        word = self.text(ACTIONS[one.kind][0])
        if one.dice is not None:
            return f"{word} {' '.join(map(str, range(1, one.dice + 1)))}"
        if one.min is None:
            return word
        return f"{word} {one.min}" if one.min == one.max else f"{word} {one.min}-{one.max}"

    # -- how it ended ----------------------------------------------------------------------------

    def outcome(self, outcome: Outcome) -> list[str]:
        """Who won, why, and with what."""
        phrase = "won" if len(outcome.winners) == 1 else "shared"
        reason = self.text(REASONS[outcome.reason])
        lines = [self.phrase(phrase, names=self._joined(outcome.winners), reason=reason)]
        for name in ("scores", "chips"):
            figures = getattr(outcome, name)
            if figures is not None:
                lines.append(self.phrase(name, values=self._by_seat(name, figures, None)))
        return lines


def _variant(event: Mapping[str, Any]) -> str:
    """What distinguishes two sentences for events of one kind."""
    match event:
        case {"kind": "rolled", "counts": bool(counts)}:
            return "/counts" if counts else "/void"
        case {"kind": "rolled", "points": 0}:
            return "/nothing"
        case {"kind": "rolled", "must_roll": True}:
            return "/forced"
        case {"kind": "busted", "cry": str()}:
            return "/cry"
        case {"kind": "settled", "won": int(won)}:
            return "/won" if won > 0 else "/lost" if won < 0 else "/even"
        case {"kind": "chose", "mask": list(mask)}:
            return "" if any(mask) else "/keeps"
        case {"kind": "covered", "amounts": list(amounts), "returned": list(returned)}:
            return "/returned" if any(returned) else "" if any(amounts) else "/nothing"
        case {"kind": "round_ended", "results": list(results)}:
            return "" if any(results) else "/nothing"
    return ""


def _nested(values: Sequence[Any]) -> bool:
    return any(isinstance(value, (list, tuple)) for value in values)


def _lying(faces: Iterable[Face]) -> tuple[str, ...]:
    """Faces in whatever order they fell."""
    return tuple(sorted(map(str, faces)))


def _dashed(faces: Iterable[Face]) -> str:
    return "-".join(map(str, faces))


def _figures(name: str, value: Any) -> str:
    if isinstance(value, list):
        return _dashed(value)
    if name == "turn_totals" and value < 0:
        return "✗"
    return f"{value:+}" if name in _SIGNED else str(value)

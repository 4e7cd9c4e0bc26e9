"""The names of players: one canonical form, nothing invisible, nothing that passes for another."""

import unicodedata
from typing import Final

LONGEST: Final = 40
_READ_AT_MOST: Final = 20 * LONGEST
_JOINER: Final = "\u200d"
_REFUSED: Final = frozenset({"Cc", "Cf", "Cs", "Co"})
_SKIN_TONES: Final = range(0x1F3FB, 0x1F400)
_EMOJI_STYLE: Final = "\ufe0f"
_ARROW: Final = "\u2194"  # the one part of emoji that counts as a mathematical sign


def canonical_name(text: str) -> str:
    """The name as it is kept: NFC and trimmed.

    Raises ValueError with the code ``too_short``, ``too_long`` (40 code points) or
    ``wrong_form`` for control, format, surrogate and private characters; the joiner that makes
    one emoji of several is kept between emoji.
    """
    if len(text) > _READ_AT_MOST:  # normalising takes the square of a long run of accents
        raise ValueError("too_long")
    name = unicodedata.normalize("NFC", text).strip()
    if not name:
        raise ValueError("too_short")
    if len(name) > LONGEST:
        raise ValueError("too_long")
    for place, character in enumerate(name):
        joins = character == _JOINER and _between_emoji(name, place)
        if unicodedata.category(character) in _REFUSED and not joins:
            raise ValueError("wrong_form")
    return name


def _between_emoji(name: str, place: int) -> bool:
    before = name[:place].rstrip(_EMOJI_STYLE)
    if before and ord(before[-1]) in _SKIN_TONES:
        before = before[:-1]
    after = name[place + 1 :]
    return bool(before and after) and all(
        unicodedata.category(one) == "So" or one == _ARROW for one in (before[-1], after[0])
    )


def folded(name: str) -> str:
    """Equal for two names that a person could take for one."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())

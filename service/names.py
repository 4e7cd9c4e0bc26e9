"""The names of players: one canonical form, nothing invisible, nothing that passes for another."""

import re
import unicodedata
from typing import Final

LONGEST: Final = 40
_READ_AT_MOST: Final = 20 * LONGEST
_JOINER: Final = "\u200d"
_REFUSED: Final = frozenset({"Cc", "Cf", "Cs", "Co"})
_SKIN_TONES: Final = range(0x1F3FB, 0x1F400)
_EMOJI_STYLE: Final = "\ufe0f"
_KEYCAP: Final = "\u20e3"
_INFORMATION: Final = "\u2139"  # the one letter among them
_ARROW: Final = "\u2194"  # the one part of emoji that counts as a mathematical sign
_UNSEEN: Final = re.compile(
    # Unicode's Default_Ignorable_Code_Point ..
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    # .. and what is a letter or a sign without any ink.
    "\u2800\U00013441\U00013442\U0001d159]"
)


def canonical_name(text: str) -> str:
    """The name as it is kept: NFC and trimmed.

    Raises ValueError with the code ``too_short``, ``too_long`` (40 code points) or
    ``wrong_form`` for control, format, surrogate and private characters, for what nobody sees,
    and for a name of accents alone; the joiner that makes one emoji of several is kept between
    emoji, and the style after one.
    """
    if len(text) > _READ_AT_MOST:  # normalising takes the square of a long run of accents
        raise ValueError("too_long")
    name = unicodedata.normalize("NFC", text).strip()
    if not name:
        raise ValueError("too_short")
    if len(name) > LONGEST:
        raise ValueError("too_long")
    if not all(_may_stand(name, place) for place in range(len(name))):
        raise ValueError("wrong_form")
    if all(unicodedata.category(character)[0] in "MZ" for character in name):
        raise ValueError("wrong_form")
    return name


def _may_stand(name: str, place: int) -> bool:
    character = name[place]
    if character == _JOINER:
        return _between_emoji(name, place)
    if character == _EMOJI_STYLE:
        return _after_emoji(name, place)
    return unicodedata.category(character) not in _REFUSED and not _UNSEEN.match(character)


def _after_emoji(name: str, place: int) -> bool:
    """Where nothing is drawn in colour an emoji style would only hide."""
    before, after = name[:place][-1:], name[place + 1 :][:1]
    if not before or before in "0123456789#*":
        return bool(before) and after == _KEYCAP
    return before == _INFORMATION or unicodedata.category(before) in ("So", "Sm", "Po", "Pd", "Sk")


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
    seen = _UNSEEN.sub("", unicodedata.normalize("NFKC", name))
    alike = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", seen).casefold())
    return " ".join(alike.split())

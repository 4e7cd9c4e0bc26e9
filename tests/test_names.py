"""Names: one canonical form, nothing invisible, nothing that passes for another."""

import unicodedata
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.names import LONGEST, canonical_name, folded

HIDDEN: Final = ("Cc", "Cf", "Cs", "Co")
# DerivedCoreProperties.txt: Default_Ignorable_Code_Point, but for the style that emoji need ..
IGNORABLE: Final = """
    00AD 034F 061C 115F 1160 17B4 17B5 180B-180F 200B-200F 202A-202E 2060-206F 3164 FE00-FE0E
    FEFF FFA0 FFF0-FFF8 1BCA0-1BCA3 1D173-1D17A E0000-E0FFF
"""
# .. and letters and signs without any ink.
BLANK: Final = "\u2800\U00013441\U00013442\U0001d159" + "".join(
    chr(code)
    for first, _, last in (one.partition("-") for one in IGNORABLE.split())
    for code in range(int(first, 16), int(last or first, 16) + 1)
)


def code(name: str) -> str:
    """Why a name is refused."""
    with pytest.raises(ValueError, match=r"^(too_short|too_long|wrong_form)$") as refusal:
        canonical_name(name)
    return str(refusal.value)


def canonical(name: str) -> str | None:
    """The name as it is kept, or None if it is refused."""
    try:
        return canonical_name(name)
    except ValueError:
        return None


@given(st.text(max_size=60) | st.text("aeo\u0301\u0308\u200d\ufe0f🙂👩🏽👨 \u00a0", max_size=50))
def test_the_canonical_form_is_canonical(text):
    name = canonical(text)
    if name is None:
        return
    assert canonical_name(name) == name
    assert unicodedata.is_normalized("NFC", name)
    assert 1 <= len(name) <= LONGEST
    assert name == name.strip()
    hidden = {one for one in name if unicodedata.category(one) in HIDDEN}
    assert hidden <= {"\u200d"}
    assert {unicodedata.category(one)[0] for one in name} - {*"MZ"}
    assert {*name} & {*BLANK} <= {"\u200d"}


@given(st.text(min_size=1, max_size=LONGEST))
def test_both_normal_forms_of_a_name_are_one_name(text):
    decomposed = canonical(unicodedata.normalize("NFD", text))
    assert decomposed == canonical(unicodedata.normalize("NFC", text))


SEEN: Final = st.characters(exclude_categories=HIDDEN, exclude_characters=f"{BLANK}\ufe0f")


@given(st.text(SEEN, max_size=LONGEST - 1))
def test_whatever_can_be_seen_is_a_name(text):
    kept = unicodedata.normalize("NFC", f"A{text}").strip()
    if len(kept) <= LONGEST:
        assert canonical_name(f"A{text}") == kept


@given(st.text(SEEN, max_size=5), st.sampled_from(BLANK), st.text(SEEN, max_size=5))
def test_what_nobody_sees_is_no_part_of_a_name(before, blank, after):
    assert code(f"A{before}{blank}{after}") in ("wrong_form", "too_short")


@given(st.text(max_size=20))
def test_folding_twice_is_folding_once(text):
    assert folded(folded(text)) == folded(text)


KEPT = {
    "plain": "Ana",
    "accents": "José Ñandú",
    "one letter": "A",
    "spaces inside": "Ana María",
    "Chinese": "王小明",
    "Arabic": "سلمى",
    "emoji": "🎲",
    "keycap": "1\ufe0f\u20e3",
    "flag": "🇲🇽",
    "heart": "❤\ufe0f",
    "family": "👩\u200d👩\u200d👧\u200d👦",
    "family with tones": "👨🏿\u200d👩🏽\u200d👧🏻",
    "pirate flag": "🏴\u200d☠\ufe0f",
    "rainbow flag": "🏳\ufe0f\u200d🌈",
    "astronaut": "👩🏽\u200d🚀",
    "judge": "🧑\u200d⚖\ufe0f",
    "eye in a bubble": "👁\ufe0f\u200d🗨\ufe0f",
    "head shaking": "🙂\u200d↔\ufe0f",
    "broken chain": "⛓\ufe0f\u200d💥",
    "running to the right": "🏃🏽\u200d♀\ufe0f\u200d➡\ufe0f",
    "letter with a style": "\u2139\ufe0f",
    "Hindi": "श्रेया",
    "kiss": "👩🏻\u200d❤\ufe0f\u200d💋\u200d👨🏾",
    "40 code points": "a" * 40,
    "40 after NFC": "e\u0301" * 40,
    "markup": "<img onerror>",
    "formula": "=cmd()",
}


@pytest.mark.parametrize("name", KEPT.values(), ids=KEPT.keys())
def test_names_that_people_have_are_kept(name):
    assert canonical_name(f"\t {name}\u3000\n") == unicodedata.normalize("NFC", name)


REFUSED = {
    "nothing": ("", "too_short"),
    "spaces": (" \u00a0\u3000", "too_short"),
    "41 code points": ("a" * 41, "too_long"),
    "41 emoji": ("🎲" * 41, "too_long"),
    "NUL": ("A\x00B", "wrong_form"),
    "escape": ("A\x1b[31mB", "wrong_form"),
    "line break": ("x\r\nevent: win", "wrong_form"),
    "C1 control": ("A\x85B", "wrong_form"),
    "right to left": ("A\u202eB", "wrong_form"),
    "isolate": ("\u2066A\u2069", "wrong_form"),
    "zero width space": ("A\u200bB", "wrong_form"),
    "zero width space alone": ("\u200b", "wrong_form"),
    "soft hyphen": ("A\u00adB", "wrong_form"),
    "byte order mark": ("\ufeffAna", "wrong_form"),
    "word joiner": ("A\u2060B", "wrong_form"),
    "joiner between letters": ("A\u200dB", "wrong_form"),
    "joiner at the start": ("\u200d🎲", "wrong_form"),
    "joiner at the end": ("🎲\u200d", "wrong_form"),
    "two joiners": ("🎲\u200d\u200d🎲", "wrong_form"),
    "joiner before a letter": ("🎲\u200dA", "wrong_form"),
    "joiner after a style alone": ("\ufe0f\u200d🎲", "wrong_form"),
    "non-joiner": ("🎲\u200c🎲", "wrong_form"),
    "Hangul filler": ("\u3164", "wrong_form"),
    "Hangul fillers inside": ("A\u115f\u1160B", "wrong_form"),
    "half-width Hangul filler": ("\uffa0", "wrong_form"),
    "blank Braille": ("\u2800\u2800", "wrong_form"),
    "style after a letter": ("Ana\ufe0f", "wrong_form"),
    "style after a digit": ("Ana1\ufe0f", "wrong_form"),
    "style alone": ("\ufe0f", "wrong_form"),
    "two styles": ("❤\ufe0f\ufe0f", "wrong_form"),
    "text style": ("❤\ufe0e", "wrong_form"),
    "style of an ideograph": ("葛\U000e0100", "wrong_form"),
    "grapheme joiner": ("A\u034fB", "wrong_form"),
    "accents alone": ("\u0301\u0308", "wrong_form"),
    "accents and spaces alone": ("\u0301 \u0308", "wrong_form"),
    "tags": ("A\U000e0041", "wrong_form"),
    "lone surrogate": ("A\ud800", "wrong_form"),
    "private use": ("A\ue000", "wrong_form"),
}


@pytest.mark.parametrize(("name", "why"), REFUSED.values(), ids=REFUSED.keys())
def test_names_that_hide_something_are_refused(name, why):
    assert code(name) == why


ALIKE = {
    "case": ("Ana", "aNA"),
    "modifier letters": ("BIG", "ᴮᴵᴳ"),
    "full width": ("Ana", "\uff21\uff4e\uff41"),
    "ligature": ("fish", "ﬁsh"),
    "sharp s": ("STRASSE", "straße"),
    "final sigma": ("ΣΑΣ", "σας"),
    "Kelvin": ("K", "\u212a"),
    "circled digit": ("1", "①"),
    "mathematical letters": ("mike", "𝓶𝓲𝓴𝓮"),
    "spaces in a row": ("Ana María", "Ana  \u2003María"),
    "emoji with and without its style": ("❤", "❤\ufe0f"),
    "wide space": ("Ana María", "Ana\u3000María"),
}


@pytest.mark.parametrize(("one", "other"), ALIKE.values(), ids=ALIKE.keys())
def test_names_that_differ_in_form_alone_are_equal(one, other):
    assert folded(canonical_name(one)) == folded(canonical_name(other))


DIFFERENT = {
    "accent": ("Jose", "José"),
    "dotless i": ("mike", "m\u0131ke"),
    "space": ("Ana María", "AnaMaría"),
    "emoji": ("👩\u200d👧", "👨\u200d👧"),
}


@pytest.mark.parametrize(("one", "other"), DIFFERENT.values(), ids=DIFFERENT.keys())
def test_other_letters_are_another_name(one, other):
    assert folded(canonical_name(one)) != folded(canonical_name(other))

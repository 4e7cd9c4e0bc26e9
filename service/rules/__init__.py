"""The registry: every ruleset that a game can be created with."""

from typing import Any, Final

from service.errors import RulesetNotFound
from service.rules.base import Ruleset
from service.rules.dados_puercos import DADOS_PUERCOS
from service.rules.dice_duel import DICE_DUEL
from service.rules.heaven_and_nine import HEAVEN_AND_NINE
from service.rules.pass_the_pigs import PASS_THE_PIGS
from service.rules.pigs import BIG_PIG, PIG, TWO_DICE_PIG

RULESETS: Final[tuple[Ruleset[Any, Any, Any], ...]] = (
    PIG,
    TWO_DICE_PIG,
    BIG_PIG,
    PASS_THE_PIGS,
    DADOS_PUERCOS,
    HEAVEN_AND_NINE,
    DICE_DUEL,
)


def ruleset(key: str, version: int | None = None) -> Ruleset[Any, Any, Any]:
    """The ruleset with this key: of this version, or the newest; raises RulesetNotFound."""
    known = [rules for rules in RULESETS if rules.key == key and version in (None, rules.version)]
    if not known:
        raise RulesetNotFound
    return max(known, key=lambda rules: rules.version)

"""Writes the golden playthroughs anew, and adds recorded games where something is not shown yet.

    make golden

A recorded game that is there is never written again: delete none, unless its version of the
ruleset was never released.
"""

from pathlib import Path
from typing import Final

from service.rules import RULESETS
from tests.golden import recorded
from tests.golden.playthrough import playthrough

PLAYTHROUGHS: Final = Path(__file__).parent / "playthroughs"


def main() -> None:
    for ruleset in RULESETS:
        path = PLAYTHROUGHS / f"{ruleset.key}.txt"
        path.write_text(playthrough(ruleset.key), "utf-8")
        print(path.name)
        for added in recorded.record(ruleset):
            print(added.name)


if __name__ == "__main__":
    main()

"""Solves the games that are solved anew and writes what ``optimal`` plays: ``make policies``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from service.bots import solver

SOLVED: Final = Path(__file__).parents[2] / "service" / "bots" / "solved"
LAWS: Final[Mapping[str, solver.Law]] = {
    "pig": solver.PIG,
    "dados-puercos": solver.DADOS_PUERCOS,
}


def main() -> None:
    for name, law in LAWS.items():
        solution = solver.solve(law)
        (SOLVED / f"{name}.bin").write_bytes(solution.packed())
        print(f"{name}: {len(solution.packed())} bytes")


if __name__ == "__main__":
    main()

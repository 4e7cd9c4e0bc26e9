"""The 21 throws of two dice in Paraíso y Nueve, their order and their names. Pure."""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Series: TypeAlias = Literal["civil", "military"]
Faces: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Figure:
    """What two dice can show: its series, its rank there (1 is highest) and its names."""

    series: Series
    rank: int
    faces: Faces
    es: str
    en: str
    zh: str

    @property
    def ways(self) -> int:
        """In how many of the 36 throws it appears."""
        return 1 if self.faces[0] == self.faces[1] else 2

    @property
    def wins_all(self) -> bool:
        """Paraíso and Nueve, the top of either series: as a mark they win every bet."""
        return self.rank == 1

    @property
    def loses_all(self) -> bool:
        """Seis rojo and Tres final, the bottom of either series: as a mark they lose every bet."""
        return self.rank == _BOTTOM[self.series]


THROWS: Final = (
    Figure("civil", 1, (6, 6), "Paraíso", "Heaven", "天"),
    Figure("civil", 2, (1, 1), "Tierra", "Earth", "地"),
    Figure("civil", 3, (4, 4), "Hombre", "Man", "人"),
    Figure("civil", 4, (3, 1), "Armonía", "Harmony", "和"),
    Figure("civil", 5, (5, 5), "Flor de cerezo", "Plum Flower", "梅"),
    Figure("civil", 6, (3, 3), "Tres largo", "Long Threes", "長三"),
    Figure("civil", 7, (2, 2), "Tronco", "Bench", "板凳"),
    Figure("civil", 8, (6, 5), "Cabeza de tigre", "Tiger's Head", "斧頭"),
    Figure("civil", 9, (6, 4), "Diez rojo", "Red-Head Ten", "紅頭十"),
    Figure("civil", 10, (6, 1), "Siete largo", "Long-Leg Seven", "高腳七"),
    Figure("civil", 11, (5, 1), "Seis rojo", "Red Mallet Six", "紅鎚六"),
    Figure("military", 1, (5, 4), "Nueve", "Nines", "九"),
    Figure("military", 1, (6, 3), "Nueve", "Nines", "九"),
    Figure("military", 2, (5, 3), "Ocho", "Eights", "八"),
    Figure("military", 2, (6, 2), "Ocho", "Eights", "八"),
    Figure("military", 3, (4, 3), "Siete", "Sevens", "七"),
    Figure("military", 3, (5, 2), "Siete", "Sevens", "七"),
    Figure("military", 4, (4, 2), "Seis", "Six", "六"),
    Figure("military", 5, (3, 2), "Cinco", "Fives", "五"),
    Figure("military", 5, (4, 1), "Cinco", "Fives", "五"),
    Figure("military", 6, (2, 1), "Tres final", "Final Three", "三"),
)
"""High to low in each series; of two throws with one rank the first is higher when the military
order is strict."""

_BOTTOM: Final = {each.series: each.rank for each in THROWS}  # the last of each series stays
_SHOWN: Final = {faces: each for each in THROWS for faces in (each.faces, each.faces[::-1])}


def figure(faces: Faces) -> Figure:
    """The figure that two dice show, in whatever order they fell."""
    return _SHOWN[faces]

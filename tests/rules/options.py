"""Random valid options for every ruleset, drawn from its options model.

A new ruleset needs an entry in ``TABLES``: the contract tests ask for it by key.
"""

from collections.abc import Callable, Mapping
from types import NoneType
from typing import Any, Literal, TypeAlias, get_args, get_origin

from annotated_types import Ge, Le
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy
from pydantic.fields import FieldInfo

from service.rules import dados_puercos_state as dados
from service.rules import dice_duel_state as duel
from service.rules import heaven_and_nine_state as heaven
from service.rules import pass_the_pigs, pigs
from service.schema import Model

Table: TypeAlias = tuple[int, dict[str, Any]]  # seats and raw options
LARGEST = 30  # of a number without a tighter bound, so that games end


def field(info: FieldInfo) -> SearchStrategy[Any]:
    """Every value of a choice, a flag or a bounded number; null where it is allowed."""
    if get_origin(info.annotation) is Literal:
        return st.sampled_from(get_args(info.annotation))
    if info.annotation is bool:
        return st.booleans()
    least = next((item.ge for item in info.metadata if isinstance(item, Ge)), 0)
    most = next((item.le for item in info.metadata if isinstance(item, Le)), LARGEST)
    assert isinstance(least, int)
    assert isinstance(most, int)
    numbers = st.integers(least, min(most, LARGEST))
    return st.none() | numbers if NoneType in get_args(info.annotation) else numbers


def from_model(model: type[Model], **others: SearchStrategy[Any]) -> SearchStrategy[dict[str, Any]]:
    """Some of the model's fields, drawn from their types, or from ``others`` where given."""
    fields = {name: field(info) for name, info in model.model_fields.items() if name not in others}
    fields |= {name: drawn for name, drawn in others.items() if name in model.model_fields}
    required = {name for name, info in model.model_fields.items() if info.is_required()}
    return st.fixed_dictionaries(
        {name: fields[name] for name in sorted(required)},
        optional={name: drawn for name, drawn in fields.items() if name not in required},
    )


def seated(most: int, options: SearchStrategy[dict[str, Any]]) -> SearchStrategy[Table]:
    return st.tuples(st.integers(2, most), options)


@st.composite
def dados_table(draw: DrawFn) -> Table:
    models: list[type[Model]] = [dados.PointsOptions, dados.RoundsOptions, dados.TurnsOptions]
    options = draw(from_model(draw(st.sampled_from(models)), bets=st.integers(1, 4)))
    if (options.get("stake") or 0) > options.get("bankroll", 100):
        options["bankroll"] = options["stake"]
    return draw(st.integers(2, 8)), options


@st.composite
def heaven_table(draw: DrawFn) -> Table:
    ends = [{"circuits": 1}, {"circuits": 2}, {"rounds": 1}, {"rounds": 4}]
    options = draw(from_model(heaven.HeavenAndNineOptions, end=st.sampled_from(ends)))
    if options.get("bank_passes") == "never":
        options["end"] = {"rounds": 3}
    return draw(st.integers(2, 12)), options


@st.composite
def duel_table(draw: DrawFn) -> Table:
    formats = [{"best_of": 3}, {"best_of": 1}, {"first_to_win": 2}, {"first_to_lose": 2}]
    penalties = st.none() | st.just({"kind": "truth", "deck": ["uno", "dos"]})
    options = draw(
        from_model(
            duel.DuelOptions,
            format=st.sampled_from(formats),
            penalty=penalties,
            free_formats=st.just(True),
        )
    )
    options["free_formats"] = True
    if options.get("rule") == "trio_pair_sum":
        options.pop("dice", None)
    return draw(st.integers(2, 8)), options


TABLES: Mapping[str, Callable[[], SearchStrategy[Table]]] = {
    "pig": lambda: seated(8, from_model(pigs.PigOptions)),
    "two-dice-pig": lambda: seated(8, from_model(pigs.TwoDicePigOptions)),
    "big-pig": lambda: seated(4, from_model(pigs.BigPigOptions)),
    "pass-the-pigs": lambda: seated(8, from_model(pass_the_pigs.PassThePigsOptions)),
    "dados-puercos": dados_table,
    "heaven-and-nine": heaven_table,
    "dice-duel": duel_table,
}

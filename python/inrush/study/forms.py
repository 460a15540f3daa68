"""The five forms of a value in a study beyond a plain one; `at_point` has what they become.

"@factor"                            the factor's value at the point; "@factor.field" where its values are tables
{ total = N }                        rows of the whole role, shared by its sessions
{ per_session = N }                  rows of each session: the work grows with the sessions
{ age_s = N }                        the rows of so many seconds of data time, sweep after sweep
{ best_of = "study", otherwise = N } the best value another study found, or N as long as there is none
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NoReturn, TypeAlias, TypeVar

from inrush.border.address import is_url, read
from inrush.study.document import I64, Node, Reader, unknown

#: Rows of one role in one run: more is a mistake in the file, not a plan.
MAX_ROWS = 10**12
#: Calls a second of a paced role, smallest and largest; twin of Rust's `schedule::RATES_PER_S`.
RATES_PER_S = (1e-6, 1e9)
RATES_LIE = f"a rate lies between {RATES_PER_S[0]:g} and {RATES_PER_S[1]:,.0f} a second"


@dataclass(frozen=True)
class FromFactor:
    factor: str
    field: str | None = None


#: What may stand in place of a value: `FromFactor` as a study is written, `Plain` at a point.
Ref = TypeVar("Ref", covariant=True)
#: No value of this type exists: a type with it knows no factor.
Plain: TypeAlias = NoReturn


@dataclass(frozen=True)
class Total(Generic[Ref]):
    rows: int | Ref


@dataclass(frozen=True)
class PerSession(Generic[Ref]):
    rows: int | Ref


@dataclass(frozen=True)
class OfAge(Generic[Ref]):
    """Whole sweeps of a table: those of so many seconds of data time."""

    seconds: float | Ref


Rows: TypeAlias = Total[Ref] | PerSession[Ref] | OfAge[Ref]


@dataclass(frozen=True)
class BestOf(Generic[Ref]):
    study: str
    otherwise: int | Ref
    #: Table -> the best that the study found; filled in at a point.
    best: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Best:
    """What a study found to be best under some conditions, e.g. engine and table."""

    where: Mapping[str, Any]
    value: int


Factors: TypeAlias = Mapping[str, Sequence[Any]]
T = TypeVar("T")


def read_reference(node: Node, factors: Factors) -> FromFactor | None:
    """`"@factor"` or `"@factor.field"`; None if the value is something else."""
    if not isinstance(node.value, str) or not node.value.startswith("@"):
        return None
    name, _, field = node.value[1:].partition(".")
    if name not in factors:
        node.problem(unknown("factor", name, factors))
        return None
    tables = [isinstance(value, Mapping) for value in factors[name]]
    if field:
        if not all(tables) or not all(field in value for value in factors[name]):
            node.problem(f"every value of factors.{name} needs a field `{field}`")
            return None
    elif any(tables):
        node.problem(f"values of factors.{name} are tables; name a field, `@{name}.field`")
        return None
    return FromFactor(name, field or None)


def values_of(node: Node, reference: FromFactor, factors: Factors) -> list[Node]:
    """Where the factor's values stand in the file, so that a wrong one is named there."""
    field = f".{reference.field}" if reference.field else ""
    return [
        Node(
            node.file,
            f"factors.{reference.factor}[{i}]{field}",
            value[reference.field] if reference.field else value,
            node.problems,
        )
        for i, value in enumerate(factors[reference.factor])
    ]


def read_form(node: Node, factors: Factors, read: Callable[[Node], T], otherwise: T) -> T | FromFactor:
    """A plain value, or a factor with such values; `otherwise` for what should be a factor and is none."""
    if not (isinstance(node.value, str) and node.value.startswith("@")):
        return read(node)
    reference = read_reference(node, factors)
    for value in values_of(node, reference, factors) if reference else ():
        read(value)
    return reference or otherwise


def read_count(node: Node, factors: Factors, low: int = 1, high: int = I64[1]) -> int | FromFactor:
    """A whole number or a factor of whole numbers."""
    return read_form(node, factors, lambda one: one.integer(low, high), low)


def count(factors: Factors, low: int, high: int) -> Reader:
    return lambda node: read_count(node, factors, low, high)


def read_number(node: Node, factors: Factors, high: float) -> float | FromFactor:
    """A number above 0 up to `high`, or a factor of such numbers."""

    def checked(one: Node) -> float:
        found = one.number()
        if not 0 < found <= high:
            one.problem(f"above 0 up to {high:g}")
        return found

    return read_form(node, factors, checked, high)


def read_rate(node: Node, factors: Factors) -> float | FromFactor:
    """Calls a second of a role, or a factor of such rates."""

    def checked(one: Node) -> float:
        found = one.number(above=True)
        if not RATES_PER_S[0] <= found <= RATES_PER_S[1]:
            one.problem(RATES_LIE)
        return found

    return read_form(node, factors, checked, 1.0)


def read_rows(node: Node, factors: Factors) -> Rows[FromFactor]:
    if isinstance(node.value, dict) and [*node.value] == ["age_s"]:
        age = node.fields(("age_s",))["age_s"]
        return OfAge(read_form(age, factors, lambda one: one.number(above=True), 1.0))
    return read_amount(node, factors, "{ total = N }, { per_session = N } or { age_s = N }")


def read_amount(
    node: Node, factors: Factors, forms: str = "{ total = N } or { per_session = N }"
) -> Total[FromFactor] | PerSession[FromFactor]:
    fields = node.fields(("total", "per_session"))
    if len(fields) != 1:
        node.problem(f"write {forms}")
        return Total(1)
    ((name, rows),) = fields.items()
    count = read_count(rows, factors, 1, MAX_ROWS)
    return Total(count) if name == "total" else PerSession(count)


def read_batch(node: Node, factors: Factors) -> int | FromFactor | BestOf[FromFactor]:
    """Rows of one insert: a number, a factor or the best of another study."""
    high = 2**32 - 1
    if not isinstance(node.value, dict):
        return read_count(node, factors, 1, high)
    fields = node.fields(("best_of", "otherwise"), required=("best_of", "otherwise"))
    if len(fields) != 2:
        return 1
    return BestOf(fields["best_of"].text(), read_count(fields["otherwise"], factors, 1, high))


def rows_of(form: Total[Plain] | PerSession[Plain], sessions: int) -> int:
    """Rows of a whole role."""
    return int(form.rows) if isinstance(form, Total) else int(form.rows) * sessions


def option_text(value: Any) -> str:
    """The value of an engine's option as plans have it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def check_no_password(node: Node, text: str) -> None:
    """Addresses among options are kept with every plan and result, so a password has no place in them."""
    if is_url(text) and any(map(may_hold_password, text.split())):
        node.problem("leave the password out of the address: the engine's variable or password file holds it")


def may_hold_password(word: str) -> bool:
    """Of a text with addresses. One of a service that no engine speaks to is let through where it can hold none."""
    if not is_url(word):
        return "@" in word  # behind a blank in a password
    at = read(word)
    other = all(problem.startswith("no engine speaks") for problem in at.problems)
    return at.password is not None or bool(
        at.problems and not (other and "@" not in word and "=" not in word)
    )

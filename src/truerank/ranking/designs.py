"""Designs: whom a held-out item is ranked against, stated before anything is scored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truerank.checks import whole_number
from truerank.deprecation import old_name
from truerank.errors import InvalidArgumentError, InvalidDataError
from truerank.ranking.screening.certificate import affordable_ladder, certified_stages
from truerank.ranking.stages import Stages
from truerank.ranking.user_blocks import BLOCKS, blocks_for


class _Recorded:
    """What a header holds as a design; until the next release it can be read like a dict."""

    __slots__ = ()
    kind: ClassVar[str]

    def describe(self) -> dict[str, Any]:
        """The design as plain values, for the header of the table."""
        raise NotImplementedError

    def __getitem__(self, name: str) -> Any:
        """A plain value of the design: what headers held in the last release."""
        old_name(f"header.design[{name!r}]", f"header.design.{name}")
        return self.describe()[name]


@dataclass(frozen=True, slots=True)
class Full(_Recorded):
    """Against every candidate: the exact rank."""

    kind: ClassVar[str] = "full"

    def describe(self) -> dict[str, Any]:
        """The design as plain values, for the header of the table."""
        return {"kind": self.kind}


N = 100
"""Default of Sampled(), where a user has as many candidates."""


@dataclass(frozen=True, slots=True)
class Sampled(_Recorded):
    """Against ``n - 1`` candidates drawn uniformly; the target makes ``n``.

    Attributes:
        n: Size of the list, the target included; at least 2, and refused where a user has fewer
            candidates. None is 100, or all candidates of a user who has fewer: an exact rank.
        replacement: Draw with replacement. Without is the default: no less informative at
            the same cost, and exact at ``n`` = all candidates.
        shared: About so many users meet the same rivals, which makes a matrix product of them:
            faster by far where scores are products, and a little less is learned
            (:mod:`truerank.ranking.screening`). ``n`` then counts items of the catalogue, of which
            those that a user has seen are not rivals, so that rows differ in ``n_sampled``.
    """

    kind: ClassVar[str] = "sampled"
    n: int | None = None
    replacement: bool = False
    shared: int | None = None

    def __post_init__(self) -> None:
        if self.n is not None:
            object.__setattr__(self, "n", whole_number("n", self.n, 2))
        object.__setattr__(self, "replacement", bool(self.replacement))
        if self.shared is not None:
            object.__setattr__(self, "shared", whole_number("shared", self.shared, 1))
            if self.replacement:
                raise InvalidArgumentError(
                    "replacement", True, "False where rivals are shared",
                    "a block of users meets each item once",
                )  # fmt: skip

    @property
    def start(self) -> int:
        """``n``, or its default where there are as many candidates."""
        return N if self.n is None else self.n

    def first_size(self, n_items: int) -> int:
        """``n``, or what the default is in a catalogue of ``n_items``."""
        return _fitted(N, n_items) if self.n is None else self.n

    def stages(self, n_items: int, n_users: int | None = None) -> Stages:
        """One stage, after which nobody goes on.

        Args:
            n_items: Candidates there are; items of the catalogue where rivals are ``shared``.
            n_users: Users there are, which matters for how many blocks of them share rivals.
        """
        size = np.array([max(2, min(self.first_size(n_items), n_items))])
        n_blocks = None
        if self.shared is not None:
            n_blocks = BLOCKS if n_users is None else blocks_for(n_users, self.shared)
        return Stages(size, np.array([0]), np.array([1.0]), n_blocks)

    def levels(self, n_items: int) -> Stages:
        """The old name of :meth:`stages`, until the next release."""
        old_name("the method 'levels' of Sampled", "stages")
        return self.stages(n_items)

    def describe(self) -> dict[str, Any]:
        """The design as plain values, for the header of the table."""
        values = {"kind": self.kind, **asdict(self), "n": self.start}
        return values if self.shared else {k: v for k, v in values.items() if k != "shared"}


MISS = 0.001
"""Default of Screened(): a target at the top is dropped once in a thousand times at most."""


@dataclass(frozen=True, slots=True)
class Screened(_Recorded):
    """Blocks of users share their rivals, and only who may be at the top meets the whole catalogue.

    Where scores are products of factors, a score that is one of a matrix product costs about a
    thirtieth of one among rivals of a row's own (:mod:`truerank.ranking.screening`). Two forms:

    * ``Screened(k=20, miss=0.001)`` is certified: a target of rank k or better is dropped with
      probability at most ``miss``. All others have exact ranks, so metrics up to ``@k`` of the
      users at hand are known between bounds that rest on no smoothness.
    * ``Screened(budget=5000)`` scores about so many items per user, and ``Screened(seconds=2.0)``
      as many as this machine scores in that time; stages, limits and chances are those with the
      least error of Recall@k that can be expected for it. Give a budget where the same ranks must
      come out on another machine.

    Attributes:
        k: The largest cutoff that matters.
        miss: Most that the chance to drop a target of rank ``k`` may be; None is 0.001, or no
            limit with a budget.
        budget: Items scored per user, on average.
        seconds: The time to take, roughly.
        shared: Users who share their rivals, about. None is 100 blocks, however many users.
    """

    kind: ClassVar[str] = "screened"
    k: int = 20
    miss: float | None = None
    budget: float | None = None
    seconds: float | None = None
    shared: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", whole_number("k", self.k, 1))
        if self.shared is not None:
            object.__setattr__(self, "shared", whole_number("shared", self.shared, 1))
        given = [name for name in ("miss", "budget", "seconds") if getattr(self, name) is not None]
        if len(given) > 1:
            raise InvalidArgumentError(
                given[1], getattr(self, given[1]), f"left out where {given[0]} is given",
                "a screen is certified (miss), or as good as a budget or seconds allow",
            )  # fmt: skip
        for name in given:
            value = getattr(self, name)
            number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
            most = 1.0 if name == "miss" else np.inf
            if not number or not 0 < value < most:
                want = "between 0 and 1" if name == "miss" else "a positive number"
                raise InvalidArgumentError(name, value, want)
            object.__setattr__(self, name, float(value))

    @property
    def certified(self) -> float | None:
        """Most that the chance to drop a target of rank ``k`` is; None with a budget."""
        if self.budget is not None or self.seconds is not None:
            return None
        return MISS if self.miss is None else self.miss

    def stages(self, n_items: int, n_users: int | None = None) -> Stages:
        """The stages in a catalogue of ``n_items``, for a typical model where there is a budget.

        Args:
            n_items: Items of the catalogue.
            n_users: Users there are, which matters where ``shared`` is given.
        """
        shared = self.shared is not None and n_users is not None
        n_blocks = blocks_for(n_users, self.shared) if shared else BLOCKS  # type: ignore[arg-type]
        if self.budget is not None:
            return affordable_ladder(self.k, self.budget, n_items).stages(n_blocks)
        return certified_stages(self.k, self.certified or MISS, n_items, n_blocks)

    def describe(self) -> dict[str, Any]:
        """The design as plain values, for the header of the table."""
        return {"kind": self.kind, **asdict(self), "miss": self.certified}


N0, TOP = 25, 20
"""Defaults of Adaptive(): see docs/decisions/0006-adaptive-design.md for what was tried."""


@dataclass(frozen=True, slots=True)
class Adaptive(_Recorded):
    """Grow the sample while the target looks like the top, so that effort goes there.

    Start with ``n0`` and multiply by ``growth``; samples are nested. Two forms:

    * ``Adaptive(n0=100, n_max=3200)``: the dissertation's (``alg:adp``). A row goes on while its
      target has rank 1, up to ``n_max``. What it costs depends on the model.
    * ``Adaptive()``: ours. There is no ceiling, so the last rows are exact, but a budget: on
      average no more items are scored per row than by ``Adaptive(n0=100, n_max=3200)``, or than
      ``budget``. A row goes on while its target has rank 1 or an estimated rank within ``top``;
      where too many would, chance decides (:mod:`truerank.ranking.adaptive_budget`).

    Which size a row ends with depends only on what was seen and on chance, so the stopping rule
    cancels in the likelihood.

    Attributes:
        n0: First size, the target included; at least 2, and refused where a user has fewer
            candidates. None is 25 (``n_max`` if that is less), or all candidates of a user who
            has fewer: an exact rank.
        n_max: Largest size; None for all candidates, which makes those rows exact.
        growth: Factor between sizes, more than 1.
        replacement: Draw with replacement. Without is the default.
        budget: Most items scored per row, on average; inf for no limit. None is what
            ``Adaptive(n0=100, n_max=3200)`` would score where there is no ``n_max``, else no
            limit.
        top: Estimated ranks (r N / n) that go on as well. None is 20 where there is no
            ``n_max``, else rank 1 alone goes on.
    """

    kind: ClassVar[str] = "adaptive"
    n0: int | None = None
    n_max: int | None = None
    growth: float = 2.0
    replacement: bool = False
    budget: float | None = None
    top: int | None = None

    def __post_init__(self) -> None:
        if self.n0 is not None:
            object.__setattr__(self, "n0", whole_number("n0", self.n0, 2))
        object.__setattr__(self, "replacement", bool(self.replacement))
        if self.n_max is not None:
            least = "" if self.n0 is None else f"a whole number, at least n0 = {self.n0}"
            most = whole_number("n_max", self.n_max, self.n0 or 2, want=least)
            object.__setattr__(self, "n_max", most)
        elif self.replacement:
            raise InvalidArgumentError(
                "n_max", None, "a number when drawing with replacement",
                "only without replacement is there a largest sample",
            )  # fmt: skip
        number = isinstance(self.growth, int | float | np.number)
        if not number or not 1 < self.growth < np.inf:
            raise InvalidArgumentError("growth", self.growth, "a number, more than 1")
        object.__setattr__(self, "growth", float(self.growth))
        if self.budget is not None:
            if not isinstance(self.budget, int | float | np.number) or not self.budget > 0:
                raise InvalidArgumentError("budget", self.budget, "a positive number, or None")
            object.__setattr__(self, "budget", float(self.budget))
        if self.top is not None:
            object.__setattr__(self, "top", whole_number("top", self.top, 1))

    @property
    def limited(self) -> bool:
        """Whether there is a budget to keep."""
        if self.budget is None:
            return self.n_max is None
        return bool(np.isfinite(self.budget))

    def first_size(self, n_items: int) -> int:
        """``n0``, or what the default is in a catalogue of ``n_items``."""
        return _fitted(self.start, n_items) if self.n0 is None else self.n0

    @property
    def start(self) -> int:
        """``n0``, or its default where there are as many candidates."""
        if self.n0 is not None:
            return self.n0
        return N0 if self.n_max is None else min(N0, self.n_max)

    def stages(self, n_items: int) -> Stages:
        """Sizes n0, n0 * growth, ... up to the ceiling, and the ranks that go on, all kept."""
        ceiling = n_items if self.n_max is None else min(self.n_max, n_items)
        sizes = [self.first_size(n_items)]
        while sizes[-1] < ceiling:
            larger = min(sizes[-1] * self.growth, ceiling)
            sizes.append(max(int(larger), sizes[-1] + 1))
        top = (TOP if self.n_max is None else 1) if self.top is None else self.top
        max_rank = np.maximum(1, np.array(sizes, dtype=np.int64) * top // n_items)
        max_rank[-1] = 0
        return Stages(np.array(sizes), max_rank, np.ones(len(sizes)))

    def levels(self, n_items: int) -> Stages:
        """The old name of :meth:`stages`, until the next release."""
        old_name("the method 'levels' of Adaptive", "stages")
        return self.stages(n_items)

    def describe(self) -> dict[str, Any]:
        """The design as plain values, for the header of the table."""
        return {"kind": self.kind, **asdict(self), "n0": self.start}


@dataclass(frozen=True, slots=True, eq=False)
class FixedNegatives:
    """Against negatives that somebody published, such as the 99 of NCF.

    A negative that is the target itself (NCF's file has 156) ties with it, so the tie rule
    decides: ``ties="pessimistic"`` counts it against the target as NCF does.

    Attributes:
        negatives: Item indices, one row per (user, item) pair in the order of the pairs:
            a matrix, or a list of lists of different lengths.
    """

    kind: ClassVar[str] = "given"
    negatives: ArrayLike
    indptr: NDArray[np.int64] = field(init=False)
    items: NDArray[np.int64] = field(init=False)

    def __repr__(self) -> str:
        return f"FixedNegatives({len(self.items):,} negatives of {len(self.indptr) - 1:,} pairs)"

    def __post_init__(self) -> None:
        given: Any = self.negatives
        if isinstance(given, np.ndarray) and given.ndim == 2:
            lengths, items = np.full(len(given), given.shape[1]), given.reshape(-1)
        else:
            rows = [np.asarray(row) for row in given] if np.iterable(given) else []
            if any(row.ndim != 1 for row in rows):
                raise InvalidDataError("negatives must be a matrix or a list of lists")
            lengths = np.array([len(row) for row in rows], dtype=np.int64)
            items = np.concatenate([np.empty(0, np.int64), *rows])
        if len(lengths) == 0 or lengths.min() == 0:
            raise InvalidDataError("each pair needs at least one negative; some rows are empty")
        if items.dtype.kind not in "iu" or items.min() < 0 or items.max() >= 2**63:
            raise InvalidDataError("negatives must be item indices: whole numbers from 0")
        object.__setattr__(self, "indptr", np.concatenate([[0], np.cumsum(lengths)]))
        object.__setattr__(self, "items", items.astype(np.int64))

    @classmethod
    def from_lists(cls, indptr: NDArray[np.int64], items: NDArray[np.int64]) -> Self:
        """From lists laid end to end: ``items[indptr[k]:indptr[k + 1]]`` belong to pair k."""
        given = cls.__new__(cls)
        object.__setattr__(given, "negatives", items)
        object.__setattr__(given, "indptr", indptr)
        object.__setattr__(given, "items", items)
        return given

    def take(self, rows: NDArray[np.int64]) -> Self:
        """The lists of some rows, in that order."""
        lengths = np.diff(self.indptr)[rows]
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        shift = np.repeat(self.indptr[rows] - indptr[:-1], lengths)
        return self.from_lists(indptr, self.items[np.arange(indptr[-1]) + shift])

    def describe(self) -> dict[str, Any]:
        """The design as plain values, for the header of the table."""
        return {"kind": self.kind, "n_rows": len(self.indptr) - 1}


InnerDesign = Full | Sampled | Adaptive | Screened


@dataclass(frozen=True, slots=True)
class Users(_Recorded):
    """Only ``m`` users, drawn without replacement; each ranked by the inner design.

    Attributes:
        m: How many users; at least 1.
        inner: How each of them is ranked.
    """

    kind: ClassVar[str] = "users"
    m: int
    inner: InnerDesign = field(default_factory=Full)

    def __post_init__(self) -> None:
        object.__setattr__(self, "m", whole_number("m", self.m, 1))
        if not isinstance(self.inner, InnerDesign):
            raise InvalidArgumentError("inner", self.inner, "Full, Sampled, Adaptive or Screened")

    def describe(self) -> dict[str, Any]:
        """The design as plain values, for the header of the table."""
        return {"kind": self.kind, "m": self.m, "inner": self.inner.describe()}


Design = Full | Sampled | Adaptive | Screened | FixedNegatives | Users


# -------------------------------------------------------------------- in headers


@dataclass(frozen=True, slots=True)
class RecordedNegatives(_Recorded):
    """What a header keeps of :class:`FixedNegatives`: how many lists there were, not the lists."""

    kind: ClassVar[str] = "given"
    n_rows: int | None = None

    def describe(self) -> dict[str, Any]:
        """Plain values, for the header of the table."""
        return {"kind": self.kind, **({} if self.n_rows is None else {"n_rows": self.n_rows})}


@dataclass(frozen=True, slots=True)
class Foreign(_Recorded):
    """Ranks made elsewhere, by whatever design.

    Attributes:
        details: Plain values that whoever read them thought worth keeping.
    """

    kind: ClassVar[str] = "foreign"
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def lists(self) -> str | None:
        """What kind of lists the ranks were read from; None if from none."""
        found = self.details.get("lists")
        return None if found is None else str(found)

    def describe(self) -> dict[str, Any]:
        """Plain values, for the header of the table."""
        return {"kind": self.kind, **self.details}


RecordedDesign = Full | Sampled | Adaptive | Screened | RecordedNegatives | Users | Foreign
"""What a header holds."""

KINDS = ("full", "sampled", "adaptive", "screened", "given", "users", "foreign")


def recorded(design: Design | RecordedDesign) -> RecordedDesign:
    """The design as a header keeps it: without the negatives themselves."""
    if isinstance(design, FixedNegatives):
        return RecordedNegatives(len(design.indptr) - 1)
    return design


def of_one_user(design: RecordedDesign) -> RecordedDesign:
    """How each user was ranked, whichever users were."""
    return design.inner if isinstance(design, Users) else design


def design_from_dict(values: Mapping[str, Any]) -> RecordedDesign:
    """The design back from the plain values that :meth:`describe` gives.

    >>> design_from_dict({"kind": "users", "m": 50, "inner": {"kind": "sampled", "n": 100}})
    Users(m=50, inner=Sampled(n=100, replacement=False, shared=None))
    """
    given = {name: value for name, value in values.items() if name not in ("kind", "levels")}
    match values.get("kind"):
        case "full":
            return Full(**given)
        case "sampled":
            return Sampled(**given)
        case "adaptive":
            return Adaptive(**given)
        case "screened":
            return Screened(**given)
        case "given":
            return RecordedNegatives(**given)
        case "foreign":
            return Foreign(given)
        case "users":
            inner = design_from_dict(given.pop("inner", {"kind": "full"}))
            return Users(inner=inner, **given)  # type: ignore[arg-type]
    raise InvalidArgumentError(
        "design", values.get("kind"),
        "a design such as Full(), Sampled(100), Adaptive(), Screened() or Users(500), or a dict "
        "with one of their kinds: full, sampled, adaptive, screened, users",
    )  # fmt: skip


def _fitted(n: int, n_items: int) -> int:
    """A default size in a catalogue of ``n_items``."""
    return max(2, min(n, n_items))

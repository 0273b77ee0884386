"""An estimate that knows its errors: plain numbers, and the region of its intervals.

standard_error² = sampling_error² + bootstrap_error² + privacy_error²: a reader sees how much of the error is privacy.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from hedgerow.errors import ParameterError
from hedgerow.facts.printed import decimals
from hedgerow.facts.validation import as_float, format_argument
from hedgerow.inference.interval import Interval, parse_level
from hedgerow.inference.joint.arithmetic import JointValue
from hedgerow.inference.operators import Operators, operation_text, term_text
from hedgerow.inference.region import HypothesisTest, Region, ScoreRegion, pvalue_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hedgerow.plots.bars import ErrorBar
    from hedgerow.plots.notebook import Line


PUBLIC = "public"
"""The method of a number that everybody knows, such as n under replace-one."""
_COMBINATION, _AND = "this combination of ", ", and of "
_BY_TANGENT = "A function that the record does not hold is computed with by its tangent."
_SENTENCES = re.compile(r"(?<=\.) (?=[A-Z])")
_UNSURE = (
    "The noise hides what the expression divides by, or what it is made of: nothing is said beyond what is possible."
)


def share_value(statistic: str, column: str | None, covers: str) -> str | None:
    """Return the value of a proportion, which the words of its interval alone tell; None for another statistic.

    >>> share_value("proportion", "sex", "the population share of sex = 1; sampling and privacy noise are counted")
    '1'
    """
    _, _, value = covers.partition(f"share of {column} = ")
    return value.rpartition("; ")[0].partition(", weighted by ")[0] if statistic == "proportion" else None


def said_once(notes: Iterable[str | None]) -> list[str]:
    """Return notes, and of each the sentences that none before it has.

    >>> said_once(["Rows are dropped.", None, "Noise hides it. Rows are dropped.", "Rows are dropped."])
    ['Rows are dropped.', 'Noise hides it.']
    """
    seen: set[str] = set()
    kept = []
    for note in filter(None, notes):
        fresh = [sentence for sentence in _SENTENCES.split(note) if sentence not in seen]
        seen.update(fresh)
        kept += [" ".join(fresh)] if fresh else []
    return kept


@dataclass(frozen=True, slots=True, repr=False)
class Estimate(Operators):
    """One released number with its error, for one cell (group of records). An estimate supports arithmetic.

    Arithmetic such as ``a + b``, ``a - b``, ``2 * a``, ``a / b``, ``a.log()``, ``a.exp()``, ``a.sqrt()``, and NumPy's
    functions of these names, return estimates. The errors of the result include the correlation of ``a`` and ``b``, if
    one call released ``a`` and ``b`` as joint moments. Arithmetic with an estimate and a plain number is always
    possible. The calls ``float(a)``, ``round(a, 2)`` and ``f"{a:.2f}"`` return the number without its error.

    Attributes
    ----------
    statistic : str
        ``"mean"``, ``"sum"``, ``"count"``, ``"proportion"``, …
    column : str or None
        The name of the column. None for a count.
    cell : mapping
        The cell (group of records) as {column: category}; ``{}`` for an estimate of all records.
    estimate : float
        The released number, in the unit of the column.
    standard_error : float or None
        The standard error in the unit of the column. The standard error is None if the noise is too large to compute a
        standard error.
    sampling_error : float or None
        The part of the standard error that is due to the sample. The squares of the sampling, bootstrap and privacy
        errors add up to the square of the standard error.
    bootstrap_error : float or None
        The part of the standard error that is due to the finite number of bootstrap replicates.
    privacy_error : float or None
        The part of the standard error that is due to the privacy noise.
    covers : str
        The quantity that the confidence interval covers, in words.
    method : str
        The method that released the number: ``"moments"``, ``"gaussian"``, ``"geometric"``, ``"averaged-laplace"``,
        ``"bootstrap"`` or ``"public"``.
    n_resamples : int or None
        The number of bootstrap replicates.
    reliable : bool
        False if the privacy noise is so large that the number carries no information. The confidence interval of such
        an unreliable number contains every possible value.
    note : str or None
        A note for readers of this number.
    replicates : tuple of float or None
        The noisy replicates of a bootstrap estimate, in the unit of the column. The attribute `replicates` is None for
        an estimate by another method, and if the noise hides the number. The price of the estimate includes its
        replicates, so combining replicates costs no further budget.
    labels : mapping
        The labels of the categories of this cell: {column: label}.
    """

    statistic: str
    column: str | None
    cell: Mapping[str, Any]
    estimate: float
    sampling_error: float | None
    bootstrap_error: float | None
    privacy_error: float | None
    method: str
    n_resamples: int | None
    reliable: bool
    note: str | None
    covers: str
    _region: Region = field(repr=False, compare=False)
    replicates: tuple[float, ...] | None = None
    labels: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "cell", MappingProxyType(dict(self.cell)))

    def __reduce__(self) -> tuple[type[Estimate], tuple[Any, ...]]:
        # A mapping proxy cannot be pickled.
        return type(self), tuple(
            dict(self.cell) if part.name == "cell" else getattr(self, part.name) for part in fields(self)
        )

    @property
    def standard_error(self) -> float | None:
        """The root of the sum of the three squares."""
        if self.sampling_error is None or self.bootstrap_error is None or self.privacy_error is None:
            return None
        return math.hypot(self.sampling_error, self.bootstrap_error, self.privacy_error)

    def confidence_interval(
        self, level: float = 0.95, method: str | None = None, *, alpha_prime: float | None = None
    ) -> Interval:
        """Return a confidence interval for the estimated quantity at the confidence level `level`.

        A confidence interval is computed from released numbers and costs no budget.

        Parameters
        ----------
        level : float
            A number between 0 and 1, at least 1e-12 away from both.
        method : str, optional
            The name of an interval method that this estimate offers. The default is the interval method of the release.
        alpha_prime : float, optional
            The parameter α′ of the method ``"conservative"`` (Brawner and Honaker), 0 ≤ α′ < 1. The parameter α′ is the
            probability that the spread of the noise alone is smaller than the amount that the method subtracts for the
            noise. The default of α′ is 0.05; if α′ = 0, the method ``"conservative"`` subtracts nothing.

        Returns
        -------
        Interval
            The interval, with the ends ``.low`` and ``.high``.

        Raises
        ------
        ParameterError
            HG110: the confidence level is invalid. HG108: the release does not offer this interval method. HG139: α′ is
            invalid. HG159: the size of the noise is confidential, so no interval can be computed.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> survey = hg.open(pyarrow.table({"age": [30.0, 50.0] * 500}), relation="replace-one")
        >>> age = survey.mean("age", bounds=(0, 100), step=1, epsilon=1.0)[0]
        >>> age.confidence_interval(0.99).low < age.confidence_interval(0.9).low < age.estimate
        True
        """
        level = parse_level(level)
        chosen = self._region.methods[0] if method is None else method
        if self._region.withheld:
            raise ParameterError(
                "HG159",
                rule="An interval and a test of an estimate need the width of its noise.",
                finding=f"That of {self._term()} is confidential: it would reveal how far the rows of the data differ.",
                remedy="The custodian reads intervals in memory: release.for_the_custodian().interval(0.95). For "
                "readers other than the custodian, release under differential privacy, without "
                "guarantee='bootstrap-dp'.",
                shell="The custodian sees the accuracy with --for-the-custodian. For others, release under "
                "differential privacy, without --guarantee bootstrap-dp.",
            )
        if chosen not in self._region.methods:
            raise ParameterError(
                "HG108",
                rule="The interval method must fit the estimator of the release.",
                finding=f"Found {format_argument(method)} on a release by {format_argument(self.method)}.",
                remedy="It offers: " + ", ".join(self._region.methods) + ".",
            )
        region = self._region if alpha_prime is None else self._region.with_alpha(chosen, alpha_prime)
        return Interval(*region.ends(level, chosen), level, chosen, self.covers)

    def test(self, value: float = 0.0, method: str | None = None) -> HypothesisTest:
        """Return the two-sided test of the hypothesis that the estimated quantity equals `value`.

        The test includes sampling error and privacy noise. The test costs no budget.

        The test rejects at level α exactly if ``confidence_interval(1 - α, method)`` excludes `value`. The probability
        that the test rejects a true hypothesis is one minus the coverage of the interval. To test whether two cells
        differ, use ``(a - b).test()``.

        Parameters
        ----------
        value : float
            The value of the estimated quantity under the null hypothesis.
        method : str, optional
            As in `confidence_interval`.

        Returns
        -------
        HypothesisTest
            The test, with ``.statistic`` and ``.pvalue``.

        Raises
        ------
        ParameterError
            HG139: `value` is not a finite number. HG108, HG159: the same errors as those of the method
            `confidence_interval`.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> survey = hg.open(pyarrow.table({"age": [30.0, 50.0] * 500}), relation="replace-one")
        >>> age = survey.mean("age", bounds=(0, 100), step=1, epsilon=1.0)[0]
        >>> age.test(40).pvalue > 0.001 > age.test(60).pvalue
        True
        """
        number = as_float(value)
        if number is None or not math.isfinite(number):
            raise ParameterError(
                "HG139",
                rule="A test compares an estimate with one finite number.",
                finding=f"Found {format_argument(value)}.",
                remedy="For a difference of two estimates, test against 0.",
            )
        by = self.confidence_interval(0.95, method).method
        error, distance = self.standard_error, self.estimate - number
        statistic = None if error is None or (error == 0.0 and distance) else distance / error if error else 0.0
        return HypothesisTest(statistic, pvalue_of(self._region, number, by), number, by, self.covers)

    def _interval_shown(self, level: float) -> Interval:
        """Return the interval for records and pictures: all that is possible, where it is withheld."""
        if self._region.withheld:
            return Interval(*self._region.possible, parse_level(level), self._region.methods[0], self.covers)
        return self.confidence_interval(level)

    @property
    def individual_sd(self) -> float | None:
        """The standard deviation of single records, √n times the sampling error of their mean, at no further price.

        None of what is no mean, and where the noise hides the spread. Source: Brawner & Honaker (2018), eq. 30.
        """
        records = self._region.records
        return math.sqrt(records) * self.sampling_error if records and self.sampling_error else None

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Return plain JSON data with the confidence interval at `level`.

        The replicates of the estimate are included if there are any.
        """
        return {
            "statistic": self.statistic,
            "column": self.column,
            "cell": dict(self.cell),
            **({"labels": dict(self.labels)} if self.labels else {}),
            "estimate": self.estimate,
            "standard_error": self.standard_error,
            "sampling_error": self.sampling_error,
            "bootstrap_error": self.bootstrap_error,
            "privacy_error": self.privacy_error,
            "confidence_interval": self._interval_shown(level).to_dict(),
            "method": self.method,
            "n_resamples": self.n_resamples,
            "reliable": self.reliable,
            "note": self.note,
            **({} if self.replicates is None else {"replicates": list(self.replicates)}),
        }

    @property
    def _joint(self) -> JointValue | None:
        """What knows its joint law with other estimates; None where nothing does, as for a bootstrap."""
        return self._region.joint

    def of_others(self) -> Estimate:
        """Return this estimate, marked as independent of estimates from other releases (disjoint sets of people).

        The caller must know that the people of the two releases are different. If the same people are in both releases,
        the computed errors are wrong.
        """
        joint = self._joint
        return self if joint is None else replace(self, _region=replace(self._region, joint=joint.of_others()))

    def _combined(self, symbol: str, other: object, *, swapped: bool = False) -> Estimate:
        """Return ``self symbol other``. `symbol` is one of + − * /, and `other` is a number or another estimate.

        Raises
        ------
        ParameterError
            HG130: the joint distribution of the two estimates is not known. Examples are two releases of the same
            people, or two different statistics by a bootstrap. Cells of one bootstrap statistic can be added and
            subtracted, because their replicates are known.
        """
        if isinstance(other, Estimate) and self.method == PUBLIC != other.method:
            return other._combined(symbol, self, swapped=not swapped)
        exact = isinstance(other, Estimate) and other.method == PUBLIC
        number = other.estimate if isinstance(other, Estimate) and exact else as_float(other)
        if number is None and not isinstance(other, Estimate):
            return NotImplemented  # type: ignore[no-any-return]  # Python's own answer to an unknown operand
        terms = [self._term(), other._term() if isinstance(other, Estimate) else f"{number:.15g}"]
        text = operation_text(symbol, *(reversed(terms) if swapped else terms))
        if number is not None and not (swapped and symbol == "/"):
            return self._moved(*_line(symbol, number, swapped=swapped), text)
        if number is not None and self.method == PUBLIC:
            return self._moved(0.0, number / self.estimate, text)
        if isinstance(other, Estimate) and symbol in "+-":
            pair = (other, self) if swapped else (self, other)
            if (by_replicates := _by_replicates(symbol, pair, text)) is not None:
                return by_replicates
        operands = [self, *([other] if isinstance(other, Estimate) and not exact else [])]
        joint, *others = [_joint_of(operand) for operand in operands]
        return _computed(joint._combined(symbol, others[0] if others else number, swapped=swapped), text, operands)

    def _applied(self, name: str) -> Estimate:
        """Return the log, exp or sqrt of this estimate (HG130: the distribution of the estimate is not known)."""
        text = f"{name}({self._term()})"
        if self.method == PUBLIC:
            return self._moved(0.0, {"log": math.log, "exp": math.exp, "sqrt": math.sqrt}[name](self.estimate), text)
        return _computed(_joint_of(self)._applied(name), text, [self])

    def _moved(self, scale: float, shift: float, text: str) -> Estimate:
        estimate, errors = (
            scale * self.estimate + shift,
            (self.sampling_error, self.bootstrap_error, self.privacy_error),
        )
        if not math.isfinite(estimate):
            raise OverflowError("the result is too large for a number")
        sampling, bootstrap, privacy = (None if error is None else abs(scale) * error for error in errors)
        joint = self._joint
        if joint is not None:
            joint = joint._combined("*", scale)._combined("+", shift)
        drawn = self.replicates
        return replace(
            self,
            statistic=text,
            column=None,
            cell={},
            labels={},
            estimate=estimate,
            sampling_error=sampling,
            bootstrap_error=bootstrap,
            privacy_error=privacy,
            covers=_covers([self]),
            _region=self._region.moved(scale, shift, joint),
            replicates=None if drawn is None else tuple(scale * value + shift for value in drawn),
        )

    def _term(self) -> str:
        """Return the name of the estimate in an expression, such as ``mean(age | sex=0)``."""
        if self._is_computed:
            return self.statistic
        name, about = self._asked_as
        return term_text(name, about, self.cell)

    @property
    def _is_computed(self) -> bool:
        """Whether it was computed from other estimates; its statistic is then the expression."""
        return self.covers.startswith(_COMBINATION)

    @property
    def _asked_as(self) -> tuple[str, list[tuple[str, ...]]]:
        """The statistic and what stands in its brackets in a term: columns, a column with a value, or a number."""
        columns: list[tuple[str, ...]] = (
            [] if self.column is None else [(column,) for column in self.column.split(", ")]
        )
        if self.statistic == "proportion":
            return self.statistic, [(str(self.column), share_value(self.statistic, self.column, self.covers) or "")]
        name, _, number = self.statistic.rpartition("_")
        numbered = name in ("quantile", "cdf", "lorenz", "share_below", "share_below_median", "survival")
        return (name, [*columns, (number,)]) if numbered else (self.statistic, columns)

    def label(self) -> str:
        """Return the name of the estimate in words, such as ``mean of age (sex=0)``."""
        if self._is_computed:
            return self.statistic
        name, where = self._subject(), self._cell_in_words()
        return f"{name} ({where})" if where else name

    def _subject(self, link: str = " of ") -> str:
        """Return what is estimated, without its cell, such as ``mean of age`` or ``proportion of status = 500``."""
        if self.column is None:
            return self.statistic
        name, (part, *_) = self._asked_as
        value = f" = {part[1]}" if name == "proportion" and part[1] else ""
        return f"{self.statistic}{link}{self.column}{value}"

    def _cell_in_words(self) -> str:
        """Return the cell in words, with the labels of its categories, such as ``sex=women``."""
        return ", ".join(f"{column}={self.labels.get(column, value)}" for column, value in self.cell.items())

    def _labelled(self, labels: Mapping[str, Mapping[Any, str]]) -> Estimate:
        """Return the estimate with the labels of its cell. `labels` maps columns and values to labels."""
        own = {column: labels[column].get(value) for column, value in self.cell.items() if column in labels}
        return replace(self, labels={column: label for column, label in own.items() if label is not None})

    def __float__(self) -> float:
        return self.estimate

    def __round__(self, digits: int | None = None) -> float:
        return round(self.estimate, digits)

    def __format__(self, code: str) -> str:
        return format(self.estimate, code) if code else str(self)

    def __repr__(self) -> str:
        return f"<Estimate {self}>"

    def __str__(self) -> str:
        if self._region.withheld:
            return f"{self.label()}: {self.estimate:.6g} ({self.note})"
        interval = self.confidence_interval().outward()
        span = f"95 % interval {interval.low:.6g} to {interval.high:.6g}"
        if self.standard_error is None or self.privacy_error is None:
            return f"{self.label()}: not reliable, {span}"
        unsure = "" if self.reliable else ", not reliable"
        return (
            f"{self.label()}: {self.estimate:.6g} (s.e. {self.standard_error:.3g}, of which privacy "
            f"{self.privacy_error:.3g}; {span}{unsure})"
        )

    def _error_bar(self, level: float = 0.95) -> ErrorBar:
        """Return the estimate as a bar for a plot. The bars of one statistic and column belong to one panel."""
        from hedgerow.plots.bars import ErrorBar

        interval, panel = self._interval_shown(level), replace(self, cell={}).label()
        label = self._cell_in_words() or "all"
        if not self._is_computed and self._asked_as[0] != self.statistic:
            # Nine deciles are one panel: the number of each stands beside its bar.
            name, (*columns, (number,)) = self._asked_as
            panel = f"{name} of {', '.join(column for column, *_ in columns)}"
            label = ", ".join([number, self._cell_in_words()]) if self.cell else number
        ends = (interval.low, interval.high)
        return ErrorBar(label, self.estimate, *ends, self.privacy_error, self.reliable, panel)

    def plot(self, ax: Axes | None = None, *, level: float = 0.95) -> Axes:
        """Draw the estimate with its confidence interval and the part of the interval that comes from the noise.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes of matplotlib in which the picture is drawn. If no axes are given, a new figure is made.
        level : float
            The confidence level of the intervals.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ParameterError
            HG110: the confidence level is not between 0 and 1.

        Examples
        --------
        >>> import pyarrow, hedgerow as hg
        >>> survey = hg.open(pyarrow.table({"age": [30.0, 50.0] * 500}), relation="replace-one")
        >>> age = survey.mean("age", bounds=(0, 100), step=1, epsilon=1.0)[0]
        >>> age.plot().get_title(loc="left")
        'mean of age'
        """
        from hedgerow.plots.bars import draw_error_bars
        from hedgerow.plots.figure import shown_in_notebook

        with shown_in_notebook():
            return draw_error_bars([self._error_bar(level)], level=level, ax=ax)

    def _card_line(self, *, with_cell: bool) -> Line:
        """Return the line of this estimate on a `Card`, with or without the name of the cell."""
        from hedgerow.plots.notebook import Line

        unsure = "" if self.reliable else " (not reliable)"
        interval = self._interval_shown(0.95).outward(decimals(self.standard_error))
        name = replace(self, cell={}).label()
        names = (name, self._cell_in_words() + unsure) if with_cell else (name + unsure,)
        errors = (self.standard_error, self.sampling_error, self.privacy_error)
        return Line(names, self.estimate, errors, (interval.low, interval.high))

    def _repr_html_(self) -> str:
        from hedgerow.plots.notebook import card_of_lines

        line, notes = self._card_line(with_cell=bool(self.cell)), (self.note,) if self.note else ()
        head = ("statistic", "cell")[: len(line.names)]
        return card_of_lines("", self.covers, head, [line], notes=notes, picture=self.plot)


def _line(symbol: str, number: float, *, swapped: bool) -> tuple[float, float]:
    """Return scale and shift of an operation with a number, as a straight line."""
    if symbol == "+":
        return 1.0, number
    if symbol == "-":
        return (-1.0, number) if swapped else (1.0, -number)
    return (number if symbol == "*" else 1.0 / number), 0.0


def _joint_of(estimate: Estimate) -> JointValue:
    if (joint := estimate._joint) is not None:
        return joint
    raise ParameterError(
        "HG130",
        rule="Estimates can be combined only if their joint distribution is known, that is, if they come from the same "
        "joint moments.",
        finding=f"That of {estimate._term()}, by {format_argument(estimate.method)}, with others is not known.",
        remedy="In one call with estimator='moments', release the means, sums, counts, shares, ratios, variances or "
        "smooth functions of means. Arithmetic with an estimate and a plain number is always possible. Cells of one "
        "bootstrap statistic can be added and subtracted on the release itself, such as release[0] - release[1], but "
        "not on its record.",
        shell="Release means, sums, counts, shares, ratios, variances or smooth functions of means in one call, by "
        "--estimator moments. With a number, any estimate can be added or multiplied.",
    )


def _by_replicates(symbol: str, pair: tuple[Estimate, Estimate], text: str) -> Estimate | None:
    """Return a sum or difference by its replicates; None unless both were drawn together by one bootstrap."""
    first, second = (operand._region.by_replicates() for operand in pair)
    if first is None or second is None:
        return None
    region = first.plus(second.scaled(1.0 if symbol == "+" else -1.0, 0.0))
    if region is None:
        return None
    parts = region.parts() if region.reliable else None
    return Estimate(
        statistic=text,
        column=None,
        cell={},
        estimate=pair[0].estimate + pair[1].estimate if symbol == "+" else pair[0].estimate - pair[1].estimate,
        sampling_error=parts.sampling_error if parts else None,
        bootstrap_error=parts.bootstrap_error if parts else None,
        privacy_error=parts.privacy_error if parts else None,
        method=pair[0].method,
        n_resamples=pair[0].n_resamples,
        reliable=all(operand.reliable for operand in pair),
        note=" ".join(dict.fromkeys(operand.note for operand in pair if operand.note)) or None,
        covers=_covers(pair),
        _region=region,
        replicates=region.replicates.estimates or None,
    )


def _computed(joint: JointValue, text: str, operands: Sequence[Estimate]) -> Estimate:
    """Return the estimate of an expression; its errors and its interval are those of its joint law."""
    sure = joint.reliable
    notes = dict.fromkeys(operand.note for operand in operands if operand.note)
    if not sure:
        notes = {**notes, _UNSURE: None}
    if not joint.is_exact:
        notes = {**notes, _BY_TANGENT: None}
    return Estimate(
        statistic=text,
        column=None,
        cell={},
        estimate=joint.estimate,
        sampling_error=joint.sampling_error if sure else None,
        bootstrap_error=0.0 if sure else None,
        privacy_error=joint.privacy_error if sure else None,
        method=joint.method,
        n_resamples=None,
        reliable=sure,
        note=" ".join(notes) or None,
        covers=_covers(operands),
        _region=ScoreRegion.of(joint),
    )


def _covers(operands: Sequence[Estimate]) -> str:
    """Return what the interval of an expression is about: all that its terms are about, each once."""
    targets: dict[str, None] = {}
    counted: dict[str, None] = {}
    for operand in operands:
        target, _, parts = operand.covers.rpartition("; ")
        targets |= dict.fromkeys(target.removeprefix(_COMBINATION).split(_AND))
        counted |= dict.fromkeys(parts.split(_AND))
    return f"{_COMBINATION}{_AND.join(targets)}; {_AND.join(counted)}"

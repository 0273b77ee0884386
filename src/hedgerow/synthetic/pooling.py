"""`pool`: one estimate with its standard error from the estimates of m synthetic files. Plain numbers.

The law of the files is P̂, fitted to what was released. File j is drawn from P̂_j, which was fitted to a re-release: n
records drawn from P̂, with fresh noise of the released law. Let q_j be the estimate of file j and U_j its own variance.
Given P̂, q_j varies for two reasons: by the refit P̂_j, with variance V, and by the rows drawn from P̂_j, with variance U.
So the variance B between the files estimates V + U, and the mean Ū estimates U. The refit varies about P̂ as P̂ varies
about the truth. So the mean q̄ = Σq_j/m has the variance V + (V + U)/m, which

    T = (1 + 1/m)·B − Ū

estimates without bias (Raghunathan, Reiter & Rubin 2003). B is a multiple of a χ² number with m − 1 degrees of freedom,
and Ū hardly varies. Matching the variance of T gives the degrees of freedom of a Student interval,

    (m − 1)·(1 − Ū/((1 + 1/m)·B))², and 2 at the least.

Without that least number an interval has no bound where T is near 0. In simulations with V from U/4 to 5·U and 5 to 50
files the intervals hold the answer in .95 or more. With m − 1 degrees of freedom, as is often done, they hold it in .91
at V = U and m = 20 (`python -m benchmarks.synthetic --rule`). T can be 0 or less by chance: with V = U and m = 20 in
2.7 % of the questions. Then Ū takes the place of T, with m − 1 degrees of freedom, and the result says so: V is U or
more where files have as many rows as the data.

Non-negativity makes a fit lean in one direction, and a refit leans again, so q̄ has about twice the bias of P̂. Of m₀
files that are drawn from P̂ itself, the mean q̄₀ leans once. It replaces q̄, with T₀ = B − Ū + Ū/m₀, and b = q̄ − q̄₀
measures the bias, with variance S = B/m + Ū/m₀ by chance. So b² − S estimates the squared bias, and the standard error
is the root of the mean squared error,

    √(T₀ + max(0, b² − S)).

b is the bias of a refit: the bias at P̂. The bias β of P̂ itself is the bias at the truth. β mostly has the sign of b and
can be larger, because where noise has already flattened a fit, a refit has less left to flatten. So the interval has
two parts, with t the Student quantile. The first is q̄₀ ± t·√(T₀ + max(0, b² − S)), for a bias of either sign. The
second is the union of q̄₀ − β ± t·√T₀ over all β from 0 to 2b: it is

    from q̄₀ − t·√T₀ − 2·|b| to q̄₀ + t·√T₀ if b > 0, and from q̄₀ − t·√T₀ to q̄₀ + t·√T₀ + 2·|b| if b < 0.

Nothing is taken off b for chance here: b is without bias as it is, and a smaller one would miss biases up to 2b. Of the
second, one member is the Student interval about the unbiased estimate q̄₀ − β, if the bias is from 0 to 2b. So the
union holds the answer as often as that, for every such bias. In simulations of normal estimates with biases from 0 to
1.5·√V the intervals hold the answer in .96 or more if a refit has half of the bias of the fit or more, those of T₀
alone in .68 to .97 (`python -m benchmarks.synthetic --rule`). The bias is not taken off the estimate: q̄₀ − b has less
bias on average, but b depends on where P̂ lies, and intervals about q̄₀ − b held the answers of most questions about
Adult less often.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.facts.printed import Lines, decimals, number
from hedgerow.facts.validation import format_argument
from hedgerow.inference.interval import Interval, parse_level
from hedgerow.keywords import takes
from hedgerow.release.publication.shared import build_frame
from hedgerow.release.publication.text import aligned

Floats = NDArray[np.float64]
_COVERS = "the value in the population, if the files carry the question; sampling and noise"
_REPLACED = "¹ T was 0 or less by chance: the mean variance of the files replaces T. Take more files."
_LEANS = (
    "² The refits lean to one side by more than a quarter of √T. The interval is wider for that, and may still be off."
)
_LEAST_DF = 2.0
_MOST_BIAS = 2.0  # how much larger the bias of the fit is than that of a refit, at most
_TENDENCY, _ONE_SIDED = 0.25, 1.645  # which bias matters, in standard errors; and which is more than chance


@dataclass(frozen=True, slots=True)
class PooledEstimate:
    """The estimate of one question, pooled over the synthetic files.

    Attributes
    ----------
    name : str
        The name of the question, such as the name of a coefficient.
    estimate : float
        q̄, or q̄₀ where files from the fit itself were given.
    standard_error : float
        √T; with files from the fit itself, the root of the mean squared error √(T + max(0, b² − S)), where b is `bias`
        and S is the square of `bias_error`.
    df : float
        The degrees of freedom of the Student interval.
    between : float
        B, the variance of the estimates between the files.
    within : float
        Ū, the mean of the variances that the files estimate.
    n_files : int
        m.
    replaced : bool
        True if the estimated variance T was not positive, so that Ū (the mean of the estimated variances) replaced T.
    bias : float or None
        q̄ − q̄₀: by how much a refit leans. The attribute `bias` is None if no files were drawn from the fit itself.
    bias_error : float or None
        The standard error of the estimated bias.
    """

    name: str
    estimate: float
    standard_error: float
    df: float
    between: float
    within: float
    n_files: int
    replaced: bool
    bias: float | None = None
    bias_error: float | None = None

    @property
    def flagged(self) -> bool:
        """Whether the bias is above a quarter of √T by more than chance (a one-sided 5 % test).

        The test finds a bias of `least_bias`·√T or more in half of all cases. A question that is not flagged can have a
        smaller bias.
        """
        return self.bias is not None and abs(self.bias) > self.least_bias * self._root_variance

    @property
    def least_bias(self) -> float:
        """The bias over √T from which a question is flagged. Infinite if no bias was measured."""
        root = self._root_variance
        return math.inf if self.bias_error is None or root == 0.0 else _TENDENCY + _ONE_SIDED * self.bias_error / root

    @property
    def _root_variance(self) -> float:
        """√T: the standard error without the bias."""
        return math.sqrt(max(self.standard_error**2 - _squared_bias(self.bias, self.bias_error), 0.0))

    def confidence_interval(self, level: float = 0.95) -> Interval:
        """Return the interval at a level; error HG110 says that the confidence level is not between 0 and 1.

        The interval is the Student interval of the standard error. If the files of the centre show a bias b of the fit,
        the interval is longer on the side of the bias: it is the union of the intervals (estimate − β) ± t·√T for all β
        from 0 to 2·b.
        """
        from hedgerow.special import stdtrit

        level = parse_level(level)
        t = float(stdtrit(self.df, (1.0 + level) / 2.0))
        half, bias = t * self.standard_error, self.bias or 0.0
        longer = max(half, t * self._root_variance + _MOST_BIAS * abs(bias))
        low, high = self.estimate - (longer if bias > 0.0 else half), self.estimate + (longer if bias < 0.0 else half)
        return Interval(low, high, level, "pooled", _COVERS)

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Return plain JSON data, with the interval at a level."""
        fields = {name: getattr(self, name) for name in self.__slots__ if not name.startswith("bias")}
        bias = {} if self.bias is None else {"bias": self.bias, "bias_error": self.bias_error, "flagged": self.flagged}
        return {**fields, **bias, "confidence_interval": self.confidence_interval(level).to_dict()}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Pooled(Sequence[PooledEstimate]):
    """A sequence with the pooled estimate (`PooledEstimate`) of each question; see `pool`.

    Attributes
    ----------
    estimates : tuple of PooledEstimate
    notes : tuple of str
        Notes for readers.
    """

    estimates: tuple[PooledEstimate, ...]
    notes: tuple[str, ...] = ()

    def __getitem__(self, index: Any) -> Any:
        """Return the estimate at a place or of a name, or the estimates of a slice."""
        if isinstance(index, str):
            names = [estimate.name for estimate in self.estimates]
            if index not in names:
                raise KeyError(index)
            return self.estimates[names.index(index)]
        return self.estimates[index]

    def __iter__(self) -> Iterator[PooledEstimate]:
        return iter(self.estimates)

    def __len__(self) -> int:
        return len(self.estimates)

    @property
    def estimate(self) -> Floats:
        """The estimate of each question."""
        return np.array([one.estimate for one in self])

    @property
    def standard_error(self) -> Floats:
        """The standard error of each question."""
        return np.array([one.standard_error for one in self])

    @property
    def df(self) -> Floats:
        """The degrees of freedom of each question."""
        return np.array([one.df for one in self])

    def confidence_interval(self, level: float = 0.95) -> list[Interval]:
        """Return the Student confidence interval of each question at a level."""
        return [one.confidence_interval(level) for one in self]

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Return plain JSON data, with confidence intervals at a level."""
        return {"pooled": [one.to_dict(level) for one in self], "notes": list(self.notes)}

    def to_frame(self, backend: str | None = None, *, level: float = 0.95) -> Any:
        """Return a data frame with one row for each question.

        Parameters
        ----------
        backend : str, optional
            The data frame library: ``"polars"``, ``"pandas"`` or ``"pyarrow"``; by default, the first of these that is
            installed.
        level : float
            The confidence level of the intervals.

        Returns
        -------
        DataFrame or Table
            A frame with the columns name, estimate, standard error, degrees of freedom, the parts of the variance, and
            the interval.

        Raises
        ------
        ParameterError
            HG208: no library for frames is installed. HG110: the confidence level is not between 0 and 1.

        Examples
        --------
        >>> import hedgerow as hg
        >>> hg.pool([0.31, 0.35, 0.28], [0.0002] * 3).to_frame("pyarrow").column_names[:3]
        ['name', 'estimate', 'standard_error']
        """
        intervals = self.confidence_interval(level)
        columns: dict[str, list[Any]] = {
            name: [getattr(one, name) for one in self]
            for name in ("name", "estimate", "standard_error", "df", "between", "within", "replaced", "flagged")
        }
        ends = {"low": [interval.low for interval in intervals], "high": [interval.high for interval in intervals]}
        return build_frame({**columns, **ends, "level": [parse_level(level)] * len(self)}, backend)

    def summary(self, level: float = 0.95) -> str:
        """Return the estimates of all questions as a printed table, with notes below the table.

        Parameters
        ----------
        level : float
            The confidence level of the intervals.

        Returns
        -------
        str
            The summary as a text, with one line for each pooled estimate.

        Raises
        ------
        ParameterError
            HG110: the confidence level is not between 0 and 1.

        Examples
        --------
        >>> import hedgerow as hg
        >>> print(hg.pool([{"slope": 0.31}, {"slope": 0.35}], [{"slope": 0.0002}] * 2).summary())
               estimate   s.e.   df   95 % interval
        slope     0.330  0.032  2.0  0.194 to 0.466
        """
        rows = [("", "estimate", "s.e.", "df", f"{100 * parse_level(level):.4g} % interval", "")]
        for one in self:
            places, (low, high) = decimals(one.standard_error), one.confidence_interval(level)
            ends = f"{number(low, places)} to {number(high, places)}"
            marks = "¹" * one.replaced + "²" * one.flagged
            figures = number(one.estimate, places), number(one.standard_error, places)
            rows.append((one.name, *figures, f"{one.df:.1f}", ends, marks))
        said = [(_REPLACED, any(one.replaced for one in self)), (_LEANS, any(one.flagged for one in self))]
        return Lines("\n".join([*aligned(rows, 1), *(note for note, needed in said if needed), *self.notes]))

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        files = self.estimates[0].n_files if self.estimates else 0
        return f"<Pooled: {len(self)} estimates of {files} files>"


@takes()
def pool(
    estimates: Sequence[Any], variances: Sequence[Any] | None = None, *, centre: Sequence[Any] | None = None
) -> Pooled:
    """Combine the estimates of m synthetic files, with a standard error that covers sampling and noise.

    The files must come from `Margins.synthesize`. The variance is T = (1 + 1/m)·B − Ū, where B is the variance of the
    estimates between the files, and Ū is the mean of their estimated variances. The degrees of freedom are (m − 1)·(1 −
    Ū/((1 + 1/m)·B))², but at least 2. Pooling costs no budget.

    Parameters
    ----------
    estimates : sequence
        The estimates: one entry for each file, which is a number, several numbers, a mapping from names to numbers, or
        a fit. A fit with ``params`` and ``bse``, as in statsmodels, includes its variances. For a fit with ``coef_``
        and ``intercept_``, as in scikit-learn, `variances` must be given.
    variances : sequence, optional
        The variance of each estimate, in the same form as `estimates`.
    centre : sequence, optional
        The estimates from the files of the centre (``centre_files``), which were drawn from the fit itself. The
        estimates in `centre` replace the mean of `estimates`, and measure the bias of the fit. The part of
        the squared bias that chance does not explain is added to the variance.

    Returns
    -------
    Pooled
        A sequence of `PooledEstimate`, with ``.estimate``, ``.standard_error``, ``.df``, ``.confidence_interval()``,
        ``.summary()`` and ``.to_frame()``.

    Raises
    ------
    ParameterError
        HG250: an argument is not a list of entries, there are fewer than two files, a number is not finite, or the
        numbers of estimates and variances differ.

    Source
        Raghunathan, Reiter & Rubin, *Multiple Imputation for Statistical Disclosure Limitation*, Journal of Official
        Statistics 19, 2003, eq. 2; for files from noisy statistics Räisä, Jälkö, Kaski & Honkela, *Noise-Aware
        Statistical Inference with Differentially Private Synthetic Data*, AISTATS 2023.

    Examples
    --------
    >>> import hedgerow as hg
    >>> pooled = hg.pool([0.31, 0.35, 0.28, 0.33], [0.0002] * 4)
    >>> pooled[0].estimate, round(pooled[0].standard_error, 4), round(pooled[0].df, 2)
    (0.3175, 0.0302, 2.02)
    """
    given = _each(estimates)
    answers = [_answer(one) for one in given]
    own = [_own_variances(one) for one in given] if variances is None else [_answer(one) for one in _each(variances)]
    centres = [] if centre is None else [_answer(one) for one in _each(centre)]
    if len(answers) < 2 or len(own) != len(answers) or (centre is not None and not centres):
        finding = f"Found {len(answers)} estimates, {len(own)} variances and {len(centres)} estimates of the centre."
        raise _unfit("Pooling needs the estimates of two files or more, and as many variances.", finding)
    names = tuple(answers[0])
    if not names or any(tuple(numbers) != names for numbers in (*answers, *own, *centres)):
        raise _unfit("Every file has the same questions in the same order.", "The names or numbers differ.")
    values, spreads, middles = (
        np.array([list(numbers.values()) for numbers in listed]).reshape(len(listed), len(names))
        for listed in (answers, own, centres)
    )
    if not all(np.isfinite(numbers).all() for numbers in (values, spreads, middles)) or (spreads < 0.0).any():
        raise _unfit("Estimates are finite, and variances are finite and not negative.", "Found a number that is not.")
    return Pooled(tuple(_pooled(name, values[:, j], spreads[:, j], middles[:, j]) for j, name in enumerate(names)))


def _pooled(name: str, values: Floats, spreads: Floats, middles: Floats) -> PooledEstimate:
    m, between, within = len(values), float(values.var(ddof=1)), float(spreads.mean())
    if len(middles) == 0:
        estimate, part, bias, bias_error = float(values.mean()), 1.0 + 1.0 / m, None, None
        total = part * between - within
    else:
        estimate, part = float(middles.mean()), 1.0
        total = between - within + within / len(middles)
        bias = float(values.mean()) - estimate
        bias_error = math.sqrt(between / m + within / len(middles))
    replaced = not total > 0.0 and within > 0.0
    df = max((m - 1) * (total / (part * between)) ** 2, _LEAST_DF) if total > 0.0 else float(m - 1)
    error = math.sqrt((within if replaced else max(total, 0.0)) + _squared_bias(bias, bias_error))
    return PooledEstimate(name, estimate, error, df, between, within, m, replaced, bias, bias_error)


def _squared_bias(bias: float | None, bias_error: float | None) -> float:
    """Return max(0, b² − S), the part of a squared bias that is more than chance; 0 if no bias was measured."""
    return 0.0 if bias is None or bias_error is None else max(bias**2 - bias_error**2, 0.0)


def _each(given: Any) -> list[Any]:
    """Return the entries of the files."""
    try:
        return [*given]
    except TypeError:
        raise _unfit("Pooling needs a list with one entry for each file.", f"Found {format_argument(given)}.") from None


def _answer(given: Any) -> dict[str, float]:
    """Return the numbers of one file by their names."""
    if hasattr(given, "coef_"):
        slopes = np.asarray(given.coef_, dtype=np.float64).reshape(-1)
        named = [str(name) for name in getattr(given, "feature_names_in_", ())]
        names = named if len(named) == len(slopes) else [f"x{place}" for place in range(len(slopes))]
        heads = np.atleast_1d(np.asarray(getattr(given, "intercept_", ()), dtype=np.float64))
        intercepts = ["Intercept"] if len(heads) == 1 else [f"Intercept {place}" for place in range(len(heads))]
        return _named([*names, *intercepts], [*slopes, *heads])
    if hasattr(given, "params") and hasattr(given, "bse"):
        return _of_fit(given, given.params)
    if hasattr(given, "keys"):
        return _named([str(name) for name in given.keys()], [given[name] for name in given.keys()])  # noqa: SIM118  # a Series iterates over its values
    try:
        numbers = np.atleast_1d(np.asarray(given, dtype=np.float64))
    except (TypeError, ValueError):
        numbers = np.empty((0, 0))
    if numbers.ndim != 1:
        raise _unfit("The estimates of a file are numbers, or a fit that has them.", f"Found {format_argument(given)}.")
    return _named(["estimate"] if len(numbers) == 1 else [f"x{place}" for place in range(len(numbers))], numbers)


def _of_fit(fit: Any, numbers: Any) -> dict[str, float]:
    if hasattr(numbers, "keys"):
        return _answer(numbers)
    names = getattr(getattr(fit, "model", None), "exog_names", None) or [f"x{j}" for j in range(len(numbers))]
    return _named(list(map(str, names)), numbers)


def _own_variances(given: Any) -> dict[str, float]:
    if not (hasattr(given, "params") and hasattr(given, "bse")):
        raise _unfit("Pooling needs the variance of every estimate.", "`variances` is missing, and no fit has them.")
    return {name: error**2 for name, error in _of_fit(given, given.bse).items()}


def _named(names: Sequence[str], numbers: Iterable[Any]) -> dict[str, float]:
    try:
        named: Mapping[str, float] = dict(zip(names, map(float, numbers), strict=True))
    except (TypeError, ValueError):
        named = {}
    if len(named) < len(names):
        raise _unfit("Every question has one name and one number.", "A name is used twice, or a number is missing.")
    return dict(named)


def _unfit(rule: str, finding: str) -> ParameterError:
    return ParameterError(
        "HG250",
        rule=rule,
        finding=finding,
        remedy="Give one estimate and one variance for each file, for example hg.pool([0.31, 0.35, 0.28], [0.0004, "
        "0.0004, 0.0005]), or hg.pool(fits).",
        shell="The file has the columns file, question, estimate, and variance or standard_error.",
    )

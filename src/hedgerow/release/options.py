"""The keywords of a release, its plan and a table, declared once: for type checkers, for help and for refusals.

`method` was one keyword for three choices. It is now `estimator` and `noise` in a release and `sensitivity` in a table;
the old name still works, with a `DeprecationWarning`. In records and JSON the key stays ``method``.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from hedgerow.errors import ParameterError
from hedgerow.facts.columns import Bands, Scalar

By = Mapping[str, Sequence[Scalar] | Mapping[Scalar, str] | Bands | None] | Sequence[str]
REPLICATED = ("bootstrap", "bounded-bootstrap")
ESTIMATORS = ("auto", "moments", *REPLICATED)
# What the old method="gaussian" asked for: Gaussian noise, and no second moment beside a total. No call names it.
PLAIN = "old method gaussian"
AVERAGED_LAPLACE = "averaged-laplace"
# What each old method asks for.
METHODS = {
    "auto": {},
    "moments": {"estimator": "moments", "noise": "gaussian"},
    "bootstrap": {"estimator": "bootstrap"},
    "gaussian": {"estimator": PLAIN, "noise": "gaussian"},
    "geometric": {"noise": "laplace"},
}


class SharedOptions(TypedDict, total=False):
    """Keywords of both a release and a table; see `Survey.release`."""

    epsilon: float | None
    rho: float | None
    mu: float | None
    delta: float | None
    noise: str | None
    n_draws: int | None
    missing: str | None
    share: Sequence[float] | None
    other: bool | None
    where: str | None
    n_resamples: int | None
    interval: str | None


class PlanOptions(SharedOptions, total=False):
    """Keywords of `Survey.plan`, apart from the statistics."""

    by: By | None
    weights: tuple[str, float] | None
    estimator: str | None


class ReleaseOptions(PlanOptions, total=False):
    """Keywords of `Survey.release`, apart from the statistics."""

    request_id: str | None


class RegressionOptions(TypedDict, total=False):
    """Keywords of a regression, apart from its formula; see `Survey.ols`."""

    bounds: Mapping[str, Any] | None
    categories: Mapping[str, Sequence[Scalar]] | None
    intercept: bool
    clip_norm: float | None
    robust: bool | str
    weights: tuple[str, float] | None
    guess: Mapping[str, Any] | None
    by: By | None
    other: bool | None
    where: str | None
    epsilon: float | None
    rho: float | None
    mu: float | None
    delta: float | None
    noise: str | None
    missing: str | None
    request_id: str | None


class LogitOptions(TypedDict, total=False):
    """Keywords of a logistic regression, apart from its formula; see `Survey.logit`."""

    value: Scalar
    steps: int
    bounds: Mapping[str, Any] | None
    categories: Mapping[str, Sequence[Scalar]] | None
    intercept: bool
    where: str | None
    epsilon: float | None
    rho: float | None
    mu: float | None
    delta: float | None
    request_id: str | None


class TableOptions(SharedOptions, total=False):
    """Keywords of a table, apart from its groups and its guarantee; see `Survey.magnitude_table`."""

    sensitivity: str
    margins: bool
    cell_bounds: Any
    part: tuple[str, str] | None
    request_id: str | None


def with_estimator(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keywords of a release, the old `method` read as `estimator` and `noise`; without a warning.

    Raises
    ------
    ParameterError
        HG186: the old name beside a new one.

    Examples
    --------
    >>> with_estimator({"method": "geometric", "epsilon": 1.0})
    {'epsilon': 1.0, 'noise': 'laplace'}
    """
    rest = {name: value for name, value in given.items() if name != "method"}
    if "method" not in given or given["method"] == "auto":
        return rest
    for name in ("estimator", "noise"):
        if rest.get(name) is not None:
            raise _both(name, "`method` is the old name of `estimator` and `noise`: one of the two is given.")
    method = given["method"]
    # What is no method is refused as an estimator would be.
    return rest | (METHODS.get(method, {"estimator": method}) if isinstance(method, str) else {"estimator": method})


def with_sensitivity(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keywords of a table, the old `method` read as `sensitivity` (HG186 where both are given)."""
    if "method" not in given:
        return dict(given)
    if given.get("sensitivity") is not None:
        raise _both("sensitivity", "`method` is the old name of `sensitivity`: one of the two is given.")
    rest = {name: value for name, value in given.items() if name != "method"}
    return rest | {"sensitivity": given["method"]}


def current_release(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keywords of a release as `with_estimator`, with a DeprecationWarning of an old one."""
    return _warned(given, with_estimator(given), "estimator= and noise=")


def current_table(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keywords of a table as `with_sensitivity`, with a DeprecationWarning of an old one."""
    return _warned(given, with_sensitivity(given), "sensitivity=")


def _warned(given: Mapping[str, Any], current: dict[str, Any], names: str) -> dict[str, Any]:
    if "method" in given:
        # Of the public call: this function, the one that calls it, the check of keywords.
        warnings.warn(f"method= is an old name: write {names}", DeprecationWarning, stacklevel=4)
    return current


def _both(name: str, rule: str) -> ParameterError:
    return ParameterError(
        "HG186", rule=rule, finding=f"Found `method` and `{name}`.", remedy=f"Leave out `method`, and keep `{name}`."
    )

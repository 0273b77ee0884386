"""What a mechanism would cost, without data: `hedgerow price`. In units where the range U − L is 1.

==============  ===============================================================  ================================
mechanism       what is priced                                                   sensitivity
==============  ===============================================================  ================================
``gaussian``    one number with Gaussian noise                                   1 under replace-one, ½ under
``laplace``     one number with Laplace noise, noise_sd = √2 × scale             add-remove (about the midpoint)
``averaged-``   one number with the average of k Laplace releases,               likewise
``laplace``     noise_sd = √(2k) × scale
``geometric``   one count with two-sided geometric noise                         1
``moments``     one mean on the default grid: replace-one with public presence,  that of the whole vector
                add-remove with a private count; noise_sd is that of Σ(x − c)
``joint-``      two means with all second moments on grids of 2²⁰ steps, Gaussian that of the whole vector
``moments``     noise; presence, and noise_sd of each mean, as for ``moments``
``bootstrap``   k resampled sums of one centred value, |x − c| ≤ ½; noise_sd is  1 under replace-one, ½ under
                that of ONE replicate                                            add-remove
``bounded-``    the same, no record drawn more than 5 times                      likewise
``bootstrap``
==============  ===============================================================  ================================

The names are those of the registry of mechanisms (`price_name`).
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, TypedDict, Unpack

from hedgerow.errors import ParameterError, UncertifiedError
from hedgerow.facts.budget import DEFAULT_DELTA, Budget, Mu, Rho, positive_number
from hedgerow.facts.relation import Relation, parse_relation
from hedgerow.facts.validation import as_int, format_argument
from hedgerow.keywords import takes
from hedgerow.mechanisms.certificate import FurtherBounds, as_stated, further_bounds
from hedgerow.mechanisms.interface import AtomicMechanism, Mechanism, Quote
from hedgerow.mechanisms.laws import N_DRAWS, parse_draws
from hedgerow.mechanisms.mechanism import as_record, priced
from hedgerow.release.options import AVERAGED_LAPLACE, REPLICATED

# Beyond these a price is either nothing or everything, and its arithmetic would lose its digits.
_NOISE_SD = (1e-4, 1e9)
_N_RESAMPLES = 50
_RATE = 1.0
LADDER = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10_000)


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a mechanism: (``epsilon_upper``, ``delta``) holds; infinite where no ε does.

    Attributes
    ----------
    mechanism : Mechanism
        What was priced, with every parameter that pricing needs.
    relation : Relation
    delta, epsilon_upper : float
    noise_sd : float
        Standard deviation of the noise on the number released (of one replicate), in units of the range.
    """

    mechanism: Mechanism
    relation: Relation
    delta: float
    epsilon_upper: float
    noise_sd: float

    def further_bounds(self) -> dict[str, Any]:
        """Return ``mu`` and ``epsilon_lower``, each None with a reason where there is none, as a certificate has them.

        >>> price_of("laplace", relation="replace-one", epsilon=1.0).further_bounds()["mu"]
        1.029806
        """
        return asdict(self.bounds)

    @property
    def bounds(self) -> FurtherBounds:
        """μ and the lower bound, computed when they are asked for."""
        from hedgerow.accounting.compose import profile_of

        curve = profile_of(self.mechanism, self.relation)
        return further_bounds(self.mechanism, self.relation, curve, self.delta)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data; an infinite ε is null."""
        return {
            "mechanism": as_record(self.mechanism),
            "relation": str(self.relation),
            "delta": self.delta,
            "epsilon_upper": self.epsilon_upper if math.isfinite(self.epsilon_upper) else None,
            "noise_sd": self.noise_sd,
            **as_stated(self.bounds),
        }


class PriceOptions(TypedDict, total=False):
    """The size of the noise, or the budget it must meet, and the options of some mechanisms; see `price_of`."""

    rho: float | None
    mu: float | None
    noise_sd: float | None
    epsilon: float | None
    delta: float | None
    n_resamples: int | None
    rate: float | None
    n_draws: int | None


@takes(PriceOptions)
def price_of(mechanism: str, *, relation: object, **options: Unpack[PriceOptions]) -> Price:
    """Return an upper bound on ε at δ for given noise, or the least noise that provably meets ε.

    Exactly one of `rho`, `mu`, `noise_sd`, `epsilon` is given. ``mu`` M means noise_sd = √k/M, k replicates or 1,
    whatever the relation; ``rho`` R means M = √(2R).

    Parameters
    ----------
    mechanism : str
        gaussian, laplace, averaged-laplace, geometric, moments, joint-moments, tree-counts, bootstrap or
        bounded-bootstrap.
    relation : {"replace-one", "add-remove"}
    rho, mu, noise_sd, epsilon : float
        The size of the noise, or the budget it must meet; in units of the range.
    delta : float, optional
        1e-6 by default.
    n_resamples, rate
        For a bootstrap only.
    n_draws : int, optional
        For averaged Laplace noise only; 10 by default.

    Raises
    ------
    ParameterError
        HG101, HG102, HG103 for ε, δ, relation; HG109 not exactly one size, or one out of range;
        HG117 a Gaussian at δ = 0; HG120 if the number of replicates is invalid;
        HG124 an option or a name that fits no mechanism.
    UncertifiedError
        HG401 no noise meets the budget; HG403 a bootstrap outside the range that is certified.

    Examples
    --------
    >>> price = price_of("gaussian", relation="replace-one", rho=0.5, delta=1e-6)
    >>> price.noise_sd, round(price.epsilon_upper, 3)
    (1.0, 4.887)
    """
    from hedgerow.accounting.calibrate import least_noise
    from hedgerow.accounting.compose import profile_of

    kind = _checked(mechanism, options)
    epsilon, delta = options.get("epsilon"), options.get("delta")
    protected = parse_relation(relation)
    quote = _quote(protected, mechanism, options)
    budget = Budget(1.0 if epsilon is None else epsilon, DEFAULT_DELTA if delta is None else delta)
    if budget.delta == 0.0 and kind.sized_by_mu:
        raise ParameterError(
            "HG117",
            rule=f'`mechanism="{mechanism}"` needs `delta` above 0.',
            finding="delta=0 was given. For this mechanism no ε holds at δ = 0, for any amount of noise.",
            remedy='Use mechanism="laplace" or "geometric" for a pure guarantee, or give delta=1e-6.',
        )
    if epsilon is not None:
        calibrated = least_noise(lambda precision: kind.of_precision(precision, quote), protected, budget)
        return Price(
            calibrated.mechanism, protected, budget.delta, calibrated.epsilon_upper, calibrated.mechanism.priced_sd
        )
    built = kind.of_noise_sd(_given_sd(options, quote.n_resamples), quote)
    curve = profile_of(built, protected)
    return Price(built, protected, budget.delta, curve.epsilon_upper(budget.delta), built.priced_sd)


def _given_sd(options: PriceOptions, n_resamples: int) -> float:
    rho, mu, noise_sd = (options.get(name) for name in ("rho", "mu", "noise_sd"))
    if noise_sd is not None:
        given = positive_number("noise_sd", noise_sd, code="HG109")
    else:
        # `_checked` has seen that one of the two was given; `Mu` and `Rho` refuse what is no number.
        budget = Rho(rho).to_mu() if mu is None else Mu(mu)  # type: ignore[arg-type]  # mypy sees None still
        given = math.sqrt(n_resamples) / budget.mu
    low, high = _NOISE_SD
    if not low <= given <= high:
        raise ParameterError(
            "HG109",
            rule=f"Noise is priced from {low:g} to {high:g} times the range.",
            finding=f"Found a standard deviation of {given:.6g}.",
            remedy="Give the noise as a multiple of the range U − L of the values.",
        )
    return given


def _checked(mechanism: str, options: PriceOptions) -> type[AtomicMechanism]:
    """Return the kind of mechanism; refuse an unknown one, options of another, and not exactly one size."""
    if mechanism not in priced():
        raise ParameterError(
            "HG124",
            rule="`mechanism` must be one of " + ", ".join(priced()) + ".",
            finding=f"Found {format_argument(mechanism)}.",
            remedy="For one number with Gaussian noise, use the mechanism gaussian.",
        )
    kind = priced()[mechanism]
    if mechanism not in REPLICATED and (options.get("n_resamples"), options.get("rate")) != (None, None):
        raise ParameterError(
            "HG124",
            rule="The number of replicates and their rate belong to the bootstrap.",
            finding=f"They were given with {mechanism!r}.",
            remedy="Leave these options out.",
        )
    if mechanism != AVERAGED_LAPLACE and options.get("n_draws") is not None:
        raise ParameterError(
            "HG124",
            rule="The number of draws belongs to averaged Laplace noise.",
            finding=f"It was given with {mechanism!r}.",
            remedy="Leave it out.",
        )
    given = [name for name in ("rho", "mu", "noise_sd", "epsilon") if options.get(name) is not None]
    if len(given) != 1:
        raise ParameterError(
            "HG109",
            rule="The amount of noise is given by exactly one of rho, mu, noise_sd and epsilon.",
            finding="Found none." if not given else "Found " + " and ".join(given) + ".",
            remedy="With epsilon, hedgerow computes the smallest noise. With rho, mu or noise_sd, hedgerow computes "
            "the price.",
        )
    if given[0] in ("rho", "mu") and not kind.sized_by_mu:
        raise ParameterError(
            "HG124",
            rule="The numbers ρ and μ state the size of Gaussian noise only.",
            finding=f"{given[0]} was given with {mechanism!r}.",
            remedy="Give epsilon or noise_sd, which is √2 × scale for Laplace noise.",
        )
    return kind


def _quote(relation: Relation, mechanism: str, options: PriceOptions) -> Quote:
    n_resamples, rate, n_draws = (options.get(name) for name in ("n_resamples", "rate", "n_draws"))
    draws = N_DRAWS if n_draws is None else parse_draws(n_draws)
    if mechanism not in REPLICATED:
        return Quote(relation, n_draws=draws)
    k = _N_RESAMPLES if n_resamples is None else as_int(n_resamples)
    if k is None or not 1 <= k <= LADDER[-1]:
        raise ParameterError(
            "HG120",
            rule=f"A bootstrap is priced for 1 to {LADDER[-1]:,} replicates.",
            finding=f"Found {format_argument(n_resamples)}.",
            remedy="The default is 50.",
        )
    return Quote(relation, k, _RATE if rate is None else positive_number("rate", rate, code="HG124"))


@dataclass(frozen=True, slots=True)
class PriceOfErrors:
    """One row of the price of standard errors: k replicates against one plain release of the same total noise.

    Attributes
    ----------
    n_resamples : int
    epsilon_upper, plain_epsilon : float
        ε of the k replicates and of the one release, at the same ρ.
    noise_ratio : float or None
        How much more noise the bootstrapped estimate needs to cost what the plain one costs; below 1 where it needs
        less. None where no certified amount does.
    """

    n_resamples: int
    epsilon_upper: float
    plain_epsilon: float
    noise_ratio: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data; an infinite ε is null."""
        return {
            "n_resamples": self.n_resamples,
            "epsilon_upper": self.epsilon_upper if math.isfinite(self.epsilon_upper) else None,
            "plain_epsilon": self.plain_epsilon,
            "noise_ratio": self.noise_ratio,
        }


def price_of_errors(
    *, relation: object, mu: float, delta: float | None = None, rate: float | None = None
) -> list[PriceOfErrors]:
    """Return what standard errors cost against k, at the total noise of one plain release at μ.

    >>> [round(row.epsilon_upper, 2) for row in price_of_errors(relation="replace-one", mu=1.0)][3:6]
    [4.87, 4.87, 4.87]
    """
    protected = parse_relation(relation)
    plain = price_of("gaussian", relation=protected, mu=mu, delta=delta)
    rows = []
    for k in LADDER:
        options: dict[str, Any] = {"relation": protected, "delta": delta, "n_resamples": k, "rate": rate}
        price = price_of("bootstrap", mu=mu, **options)
        try:
            needed = price_of("bootstrap", epsilon=plain.epsilon_upper, **options)
            ratio: float | None = needed.noise_sd / price.noise_sd
        except (UncertifiedError, ParameterError):
            ratio = None
        rows.append(PriceOfErrors(k, price.epsilon_upper, plain.epsilon_upper, ratio))
    return rows

"""What a certificate says of a published mechanism: no, unless the general bound is asked for by name.

Multinomial weights tie a record to all others, so that the argument behind the price of the released bootstrap does not
hold for them. One bound does, for any data: that of Wang, Cheng and Awan. It is dear, and whoever wants it must say so.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

from hedgerow.accounting.loss_grid import Curve
from hedgerow.accounting.multinomial import multinomial_curve
from hedgerow.errors import UncertifiedError
from hedgerow.facts.budget import DEFAULT_DELTA, positive_number
from hedgerow.facts.relation import Relation, parse_relation
from hedgerow.testing.multinomial import MultinomialBootstrap

WANG_CHENG_AWAN = "wang-cheng-awan"


@dataclass(frozen=True, slots=True)
class GeneralPrice:
    """(``epsilon_upper``, ``delta``) holds for the mechanism, by the bound that it names; no ledger takes it.

    The price is that of exact Gaussian noise; what is simulated in floating point has no guarantee.

    Attributes
    ----------
    mechanism : MultinomialBootstrap
    relation : Relation
        ``"replace-one"``.
    bound : str
        ``"wang-cheng-awan"``.
    epsilon_upper, delta : float
    curve : Curve
        The whole upper bound, for other δ.
    """

    mechanism: MultinomialBootstrap
    relation: Relation
    bound: str
    epsilon_upper: float
    delta: float
    curve: Curve = field(repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data; an infinite ε is null."""
        return {
            "mechanism": asdict(self.mechanism),
            "relation": str(self.relation),
            "bound": self.bound,
            "epsilon_upper": self.epsilon_upper if math.isfinite(self.epsilon_upper) else None,
            "delta": self.delta,
        }


def certify_published(
    mechanism: MultinomialBootstrap,
    *,
    relation: str = Relation.REPLACE_ONE,
    delta: float = DEFAULT_DELTA,
    bound: str | None = None,
) -> GeneralPrice:
    """Refuse a multinomial bootstrap, or price it by the bound that is asked for by name: ε is an upper bound.

    The bound is proven for finite n and k and for any data: see `accounting.multinomial` for the proof. As k grows,
    replicates at μ/√k each tend to √(2 − 2/e)·μ = 1.124 μ.

    Parameters
    ----------
    mechanism : MultinomialBootstrap
    relation : {"replace-one"}
    delta : float
    bound : {None, "wang-cheng-awan"}

    Raises
    ------
    UncertifiedError
        HG405: no bound was named, another one was, or the relation is add-remove, under which n is private.

    Examples
    --------
    >>> published = MultinomialBootstrap.as_published(0.5, n=500, bounds=(0, 100), n_resamples=50)
    >>> round(certify_published(published, bound="wang-cheng-awan").epsilon_upper, 2)  # the paper's claim is 4.887
    6.74
    """
    parsed = parse_relation(relation)
    positive_number("delta", delta, code="HG102")
    if bound != WANG_CHENG_AWAN or parsed is not Relation.REPLACE_ONE:
        raise UncertifiedError(
            "HG405",
            rule="A bootstrap with multinomial weights is not certified.",
            finding="Its published price is false."
            if bound is None
            else f"Found bound={bound!r} under {str(parsed)!r}.",
            remedy=f'Under replace-one, bound="{WANG_CHENG_AWAN}" gives a general price; estimator="bootstrap" of a '
            "survey has Poisson weights and costs less.",
        )
    curve = multinomial_curve(
        distance=mechanism.sensitivity / mechanism.noise_sd, n=mechanism.n, n_resamples=mechanism.n_resamples
    )
    return GeneralPrice(mechanism, parsed, bound, curve.epsilon_upper(delta), delta, curve)

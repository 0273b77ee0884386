"""Sparse vector: many questions "is this statistic at least that?", of which only the few answered yes are paid for.

The description and its price; `hedgerow.release.draw.sparse_vector` draws it. Lyu, Su & Li (2017), Algorithm 7, with
integer statistics and two-sided geometric noise. One draw of noise ρ is added to the threshold, ONCE; each question i
compares

    q_i + ν_i ≥ T_i + ρ,      q_i the statistic, T_i its public threshold, ν_i noise of its own,

and after `positives` answers "yes" no more is asked. A "yes" may be followed by an answer: a vector of integers that
belong to it, each plus noise of its own. Questions may depend on all that was said before.

The price, proven on the integers
---------------------------------
Let D, D' be neighbours, Δ = `reach`, c = `positives`, P(ρ = z) ∝ e^(−|z|/b₁), P(ν = z) ∝ e^(−|z|/b₂). Given the answers
so far the questions are fixed, so the chance of a run of answers is, with f over "no" and g over "yes",

    Σ_z P(ρ = z) · Π_no P(q_i(D) + ν < T_i + z) · Π_yes P(q_i(D) + ν ≥ T_i + z).

The sum runs over ALL integers, so z may be replaced by z + Δ, Δ an integer, term by term:

* P(ρ = z) ≤ e^(Δ/b₁) P(ρ = z + Δ);
* "no": q_i(D) ≥ q_i(D') − Δ, so {q_i(D) + ν < T_i + z} lies inside {q_i(D') + ν < T_i + z + Δ}: no price, however many;
* "yes": {q_i(D) + ν ≥ T_i + z} is {ν ≥ t}, t = T_i + z − q_i(D) an integer, and the event wanted on D' is {ν ≥ t'} with
  t' ≤ t + 2Δ. Summing P(ν = j) ≤ e^(2Δ/b₂) P(ν = j + 2Δ) over j ≥ t gives a factor e^(2Δ/b₂), at most c times.

So the loss is at most Δ/b₁ + 2cΔ/b₂. Ties need no care: ≥ and < split the integers into two half-lines that integer
shifts map onto half-lines, and with > and ≤ the same lines hold. If all statistics move the same way between any two
neighbours (`monotone`), cΔ/b₂ is enough: where they rise from D to D', t' ≤ t + Δ after the shift; where they fall, z
is not shifted, "no" costs nothing, and "yes" costs Δ/b₂. An answer costs the largest of Σ |d_i|/s_i over its possible
movements d, at most c times. Nothing in this needs δ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hedgerow.errors import ParameterError
from hedgerow.facts.budget import positive_number
from hedgerow.facts.relation import Relation
from hedgerow.noise.lattice import require_drawable, require_positive

# A certificate rounds ε up to 1e-6, and a price is rounded up in its last digits: aim below by less than it shows.
_AIM = 1.0 - 1e-9


@dataclass(frozen=True, slots=True)
class SparseVector:
    """Questions against public thresholds until `positives` were answered yes, each yes with an answer where wanted.

    Pure ε = Δ/b₁ + 2cΔ/b₂ + c·max_d Σ |d_i|/s_i, the 2 dropped for `monotone` statistics; see the module's proof.

    Attributes
    ----------
    relation : Relation
        The neighbours for which `reach`, `monotone` and `answer_moves` are stated. Under another one there is no price.
    reach : int
        Δ, the farthest that one record moves any statistic, in its own integers.
    monotone : bool
        Whether between any two neighbours all statistics move the same way (counts under add-remove do).
    positives : int
        c, after which nothing more is asked.
    threshold_scale, question_scale : float
        b₁ of the noise drawn once, b₂ of each question's.
    answer_moves : tuple of tuples of int
        The movements d of an answer between neighbours: each that can occur is no larger, coordinate by coordinate,
        than one of these. Empty where nothing is answered but yes.
    answer_scales : tuple of float
        s_i of each coordinate of an answer.
    """

    relation: Relation
    reach: int
    monotone: bool
    positives: int
    threshold_scale: float
    question_scale: float
    answer_moves: tuple[tuple[int, ...], ...] = ()
    answer_scales: tuple[float, ...] = ()
    type: Literal["sparse-vector"] = "sparse-vector"

    def __post_init__(self) -> None:
        require_positive(reach=self.reach, positives=self.positives)
        whole = all(isinstance(number, int) for move in self.answer_moves for number in move)
        scales = {f"answer_scales[{place}]": scale for place, scale in enumerate(self.answer_scales)}
        scales |= {"threshold_scale": self.threshold_scale, "question_scale": self.question_scale}
        require_positive(**scales)
        require_drawable(*scales.values())
        whole = whole and isinstance(self.reach, int) and isinstance(self.positives, int)
        fits = whole and all(
            len(move) == len(self.answer_scales) and all(d >= 0 for d in move) for move in self.answer_moves
        )
        if not fits or bool(self.answer_moves) != bool(self.answer_scales):
            raise ParameterError(
                "HG406",
                rule="Each movement of an answer has one whole number, 0 or more, for each scale of its noise.",
                finding=f"Found {len(self.answer_moves)} movements for {len(self.answer_scales)} scales.",
            )

    def comparing_loss(self) -> float:
        """Return Δ/b₁ + 2cΔ/b₂ (cΔ/b₂ where monotone): what all the questions cost together."""
        shifts = 1 if self.monotone else 2
        return self.reach / self.threshold_scale + shifts * self.positives * self.reach / self.question_scale

    def answering_loss(self) -> float:
        """Return c·max_d Σ |d_i|/s_i: what the answers cost together; 0 without any."""
        moved = (sum(d / s for d, s in zip(move, self.answer_scales, strict=True)) for move in self.answer_moves)
        return self.positives * max(moved, default=0.0)

    def pure(self) -> float:
        """Return ε, up to rounding in the last digits."""
        return self.comparing_loss() + self.answering_loss()


def sparse_vector(
    epsilon: float,
    relation: Relation,
    *,
    reach: int,
    positives: int,
    monotone: bool = False,
    answer_moves: tuple[tuple[int, ...], ...] = (),
    answer_widths: tuple[float, ...] = (),
    answer_share: float = 0.5,
) -> SparseVector:
    """Return the description that spends ε in the proportions of Lyu, Su & Li: ε₁ : ε₂ = 1 : (2c)^(2/3).

    Parameters
    ----------
    epsilon : float
        Of the whole run, answers included.
    relation, reach, positives, monotone, answer_moves
        As in `SparseVector`. For monotone statistics the proportion is 1 : c^(2/3).
    answer_widths : tuple of float
        How wide the noise of an answer's coordinates is relative to one another.
    answer_share : float
        ε₃/ε, what the answers take; 0 is taken where there are none.

    Raises
    ------
    ParameterError
        HG101: ε is not positive. HG182: a share outside (0, 1). HG406: numbers that do not fit.

    Examples
    --------
    >>> near = Relation.ADD_REMOVE
    >>> found = sparse_vector(1.0, near, reach=1, positives=4, answer_moves=((1,),), answer_widths=(1.0,))
    >>> round(found.threshold_scale, 9), round(found.question_scale, 9), round(found.answer_scales[0], 9)
    (10.00000001, 20.00000002, 8.000000008)
    >>> round(found.pure(), 6)
    1.0
    """
    epsilon = positive_number("epsilon", epsilon)
    if answer_moves and not 0.0 < answer_share < 1.0:
        raise ParameterError(
            "HG182",
            rule="The share of ε that pays for answers lies strictly between 0 and 1.",
            finding=f"Found {answer_share!r}.",
            remedy="Leave it at 0.5.",
        )
    third = epsilon * answer_share if answer_moves else 0.0
    shifts = (1 if monotone else 2) * positives
    ratio = shifts ** (2.0 / 3.0)
    first = (epsilon - third) / (1.0 + ratio)
    second = epsilon - third - first
    unit = SparseVector(relation, reach, monotone, positives, 1.0, 1.0, answer_moves, answer_widths)
    stretch = unit.answering_loss() / (third * _AIM) if answer_moves else 1.0
    return SparseVector(
        relation,
        reach,
        monotone,
        positives,
        threshold_scale=reach / (first * _AIM),
        question_scale=shifts * reach / (second * _AIM),
        answer_moves=answer_moves,
        answer_scales=tuple(width * stretch for width in answer_widths),
    )

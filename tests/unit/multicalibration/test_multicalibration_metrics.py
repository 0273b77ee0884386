"""Errors by group against sums written out, noise floors against simulation, and a report against its table."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from hedgerow.errors import DataError, ParameterError
from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation
from hedgerow.multicalibration import (
    brier_score,
    family_of,
    log_loss,
    multicalibration_error,
    noise_floor,
    residuals_of,
)
from hedgerow.multicalibration.calibrated_model import Records
from hedgerow.multicalibration.calibration_fit import model_of
from hedgerow.multicalibration.calibration_mechanism import Setting
from hedgerow.multicalibration.count_table import CountTable
from hedgerow.multicalibration.family import records_of
from hedgerow.multicalibration.report import Report, floor_of, report_of
from hedgerow.testing.published import NoPrivacy
from hedgerow.testing.simulated import SimulatedNoise

FAMILY = family_of({0: [0, 1]})
SETTING = Setting(FAMILY, Relation.ADD_REMOVE, None)


def people(n: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X, p = rng.integers(0, 2, (n, 1)), rng.random(n)
    return X, p, (rng.random(n) < p).astype(np.int64)


def test_errors_are_the_sums_written_out() -> None:
    X, p, y = people(500)
    groups, residuals, sizes = [np.ones(500, bool), X[:, 0] == 0, X[:, 0] == 1], [], []
    for inside in groups:
        for b in range(10):
            rows = inside & (p >= b / 10) & (p < (b + 1) / 10)
            residuals.append(abs((y - p)[rows].sum()))
            sizes.append(rows.sum())
    masks = np.stack(groups[1:], axis=1)
    assert multicalibration_error(y, p, masks) == pytest.approx(max(residuals) / 500)
    assert multicalibration_error(y, p, masks, kind="group-weighted") == pytest.approx(sum(residuals) / sum(sizes))
    assert multicalibration_error(y, p, {0: [0, 1]}, X=X) == pytest.approx(max(residuals) / 500)
    assert multicalibration_error(y, p, list(masks.T)) == pytest.approx(max(residuals) / 500)


def test_losses_agree_with_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    _, p, y = people(500)
    assert log_loss(y, p) == pytest.approx(metrics.log_loss(y, p))
    assert brier_score(y, p) == pytest.approx(metrics.brier_score_loss(y, p))


def test_the_floor_of_a_report_lies_above_simulation_but_not_far() -> None:
    _, p, _ = people(20_000)
    X = np.arange(20_000).reshape(-1, 1) % 2
    most, weighted = floor_of(residuals_of((p > 0.5).astype(int), p, {0: [0, 1]}, X=X))
    drawn = [noise_floor(p, {0: [0, 1]}, X=X, kind=kind, rng=3) for kind in ("max", "group-weighted")]
    assert drawn[0] < most < 1.25 * drawn[0]
    assert drawn[1] * 0.97 < weighted < 1.1 * drawn[1]


@pytest.mark.parametrize("kind", ["max", "group-weighted"])
def test_perfect_scores_are_at_the_floor_and_wrong_ones_above(kind: Any) -> None:
    X, p, y = people(20_000)
    floor = noise_floor(p, {0: [0, 1]}, X=X, kind=kind, rng=4)
    assert multicalibration_error(y, p, {0: [0, 1]}, X=X, kind=kind) < 2 * floor
    assert multicalibration_error(y, p**2, {0: [0, 1]}, X=X, kind=kind) > 5 * floor


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (([0, 1], [0.5, 1.5]), "HG166"),
        (([0, 2], [0.5, 0.5]), "HG166"),
        (([0], [0.5, 0.5]), "HG166"),
        (([0, 1], [0.5, 0.5], [[True]]), "HG166"),
        (([0, 1], [0.5, 0.5], 3), "HG165"),
    ],
)
def test_what_does_not_fit_is_refused(arguments: Any, code: str) -> None:
    with pytest.raises((DataError, ParameterError)) as refused:
        multicalibration_error(*arguments)
    assert refused.value.code == code


def report(private: bool, n: int = 20_000) -> Report:
    X, p, y = people(n, 5)
    records = Records.of(FAMILY, FAMILY.classes(records_of(X)), p**2, y)
    mechanism = CountTable() if private else NoPrivacy()
    described = mechanism.describe(SETTING, Budget(1.0, 0.0))
    fitted = mechanism.run(SETTING, described, records, SimulatedNoise(6))
    return dataclasses.replace(report_of(model_of([fitted], mechanism.name, SETTING, (0, 1), None)), private=private)


def test_a_private_report_is_near_the_exact_one_and_never_it() -> None:
    exact, read = (report(private).to_dict()["models"][0]["before"] for private in (False, True))
    assert read["log_loss"] == pytest.approx(exact["log_loss"], rel=0.03)
    assert read["brier"] == pytest.approx(exact["brier"], rel=0.03)
    assert read["n"] == pytest.approx(exact["n"], rel=0.03) and read["n"] != exact["n"]
    assert read["max_error"] == pytest.approx(exact["max_error"], rel=0.15)


@pytest.mark.parametrize("private", [True, False])
def test_intervals_of_residuals_hold_about_as_often_as_they_say(private: bool) -> None:
    """Before, p² is wrong everywhere: its true residual is E[p − p² | bucket]. 40 sets of 30 cells, level .9."""
    held, told = 0, 0
    for seed in range(40):
        X, p, y = people(4000, seed)
        records = Records.of(FAMILY, FAMILY.classes(records_of(X)), p, y)
        mechanism = CountTable() if private else NoPrivacy()
        described = mechanism.describe(SETTING, Budget(1.0, 0.0))
        fitted = mechanism.run(SETTING, described, records, SimulatedNoise(seed))
        made = report_of(model_of([fitted], mechanism.name, SETTING, (0, 1), None))
        # Calibrated scores have a residual of 0 in every cell.
        cells = [cell for cell in made.cells(when="before", level=0.9) if cell.reliable]
        held += sum(cell.low <= 0.0 <= cell.high for cell in cells)
        told += len(cells)
    assert told >= 1190 and 0.86 < held / told < 0.94


def test_a_cell_within_its_noise_says_so() -> None:
    described = CountTable().describe(SETTING, Budget(1.0, 0.0))
    nobody = Records.of(FAMILY, np.zeros((0, 1), dtype=np.int64), np.zeros(0), np.zeros(0, dtype=np.int64))
    fitted = CountTable().run(SETTING, described, nobody, SimulatedNoise(1))
    cells = report_of(model_of([fitted], "table", SETTING, (0, 1), None)).cells()
    unknown = [cell for cell in cells if not cell.reliable]
    assert len(unknown) > 20 and all(cell.low == -cell.score and cell.high == 1 - cell.score for cell in unknown)


def test_a_report_is_drawn_before_and_after() -> None:
    made = report(True)
    axes = made.plot()
    assert len(axes.figure.axes) == 3 and axes.get_title(loc="left") == "all"
    labels = [line.get_label() for line in axes.get_lines()]
    assert "before" in labels and "after" in labels
    assert made.plot(ax=axes) is axes
    assert len(made.to_frame("pandas")) == 30 and made._repr_html_().count("<tr>") == 9
    with pytest.raises(ParameterError):
        made.reliability("nobody")
    with pytest.raises(ParameterError):
        made.cells(when="now")

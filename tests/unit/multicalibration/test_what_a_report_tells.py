"""`report_`: intervals that hold the truth, numbers that can be, and one line where something is not known."""

import numpy as np
import pytest
from numpy.typing import NDArray

from hedgerow.errors import ParameterError
from hedgerow.facts.budget import Budget
from hedgerow.facts.relation import Relation
from hedgerow.multicalibration import family_of
from hedgerow.multicalibration.calibrated_model import Records, Residuals
from hedgerow.multicalibration.calibration_fit import model_of
from hedgerow.multicalibration.calibration_mechanism import FittedCalibration, Setting, mechanism_named
from hedgerow.multicalibration.report import Report
from hedgerow.testing.simulated import SimulatedNoise

FAMILY = family_of({"sex": [0, 1]})


def fitted(mechanism: str, n: int, seed: int, values: NDArray[np.float64]) -> FittedCalibration:
    """Scores of few values; group sex=1 has .1 more labels than they say."""
    rng = np.random.default_rng(seed)
    classes, p = rng.integers(0, 2, (n, 1)), rng.choice(values, n)
    y = (rng.random(n) < p + 0.1 * (classes[:, 0] == 1)).astype(np.int64)
    setting = Setting(FAMILY, Relation.REPLACE_ONE, n)
    chosen = mechanism_named(mechanism)
    described = chosen.describe(setting, Budget(1.0, chosen.default_delta))
    return chosen.run(setting, described, Records.of(FAMILY, classes, p, y), SimulatedNoise(seed))


def report_of(one: FittedCalibration, mechanism: str = "table") -> Report:
    return Report((one.before,), (one.after,), (1,), mechanism, True)


@pytest.mark.parametrize("mechanism", ["table", "rounds"])
def test_intervals_before_hold_the_truth_for_scores_of_few_values(mechanism: str) -> None:
    """40 fits × 12 cells: 95 % expected. The sabotage: read .03 away, as bins' middles are, they hold it far less."""
    held, moved, cells = 0, 0, 0
    values = np.array([0.05, 0.25, 0.45, 0.65]) + 0.02
    for seed in range(40):
        for cell in report_of(fitted(mechanism, 8000, seed, values), mechanism).cells(when="before"):
            if cell.count < 300:
                continue
            truth = {"all": 0.05, "sex=0": 0.0, "sex=1": 0.1}[cell.group]
            cells += 1
            held += cell.low <= truth <= cell.high
            moved += cell.low <= truth + 0.03 <= cell.high
    assert cells > 400 and held / cells > 0.92
    assert moved / cells < 0.8


def test_labels_scatter_about_their_own_rate() -> None:
    """1,000 records scored .001 of whom 300 have the label: sd of the share is .0145, whatever the score says."""
    one, none = np.array([[1000.0]]), np.zeros((1, 1))
    wrong = Residuals(("all",), one * 0.299, one, one * 0.001, none, none, 1000.0, True)
    (cell,) = Report((wrong,), (wrong,), (1,), "table", True).cells(when="before")
    assert (cell.high - cell.low) / (2 * 1.96) == pytest.approx(0.0145, rel=0.02)


def test_errors_of_noise_alone_are_no_larger_than_errors_can_be() -> None:
    for mechanism in ("table", "rounds"):
        said = report_of(fitted(mechanism, 1, 3, np.array([0.5])), mechanism).to_dict()["models"][0]["before"]
        assert all(0 <= said[name] <= 1 for name in said if "error" in name)
        assert said["log_loss"] is None or said["log_loss_noise_sd"] > 0


@pytest.mark.parametrize("mechanism", ["rounds", "numeric_sparse", "input_perturbation"])
def test_one_line_says_why_something_is_not_known(mechanism: str) -> None:
    report = report_of(fitted(mechanism, 500, 1, np.array([0.5])), mechanism)
    for told in (str(report), report._repr_html_(), report.to_dict()["note"]):
        assert "known" in told and "multicalibration_error" in told
    with pytest.raises(ParameterError) as refused:
        report.cells()
    assert "multicalibration_error" in str(refused.value)
    assert "known" not in report_of(fitted("table", 500, 1, np.array([0.5]))).note


def test_a_plot_shows_bands_and_says_below_what_no_curve_shows() -> None:
    pytest.importorskip("matplotlib")
    axes = report_of(fitted("rounds", 8000, 1, np.array([0.3, 0.6])), "rounds").plot(groups=["all"])
    assert "errors after calibration are not known" in axes.figure.get_supxlabel().replace("\n", " ")
    assert len(axes.collections) == 1
    both = report_of(fitted("table", 8000, 1, np.array([0.3, 0.6]))).plot(groups=["all"])
    assert both.figure.get_supxlabel() == "" and len(both.collections) == 2


def test_every_class_is_shown() -> None:
    one = fitted("table", 500, 1, np.array([0.5]))
    model = model_of([one] * 3, "table", Setting(FAMILY, Relation.ADD_REMOVE, None, models=3), ("a", "b", "c"), None)
    shown = str(Report(model.before, model.after, ("a", "b", "c"), "table", True))
    assert all(f"class {label}" in shown for label in "abc")

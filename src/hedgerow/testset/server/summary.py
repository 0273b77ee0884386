"""A score as the summary of a check: markdown for a page of continuous integration. Post-processing, at no price."""

from __future__ import annotations

from hedgerow.testset.score import Score

CONCLUSIONS = {"met": "success", "missed": "failure", "undecided": "neutral", None: "neutral"}
_WHY = {
    "met": "The whole 95 % interval lies on the wanted side.",
    "missed": "The whole 95 % interval lies on the other side.",
    "undecided": "The threshold lies inside the 95 % interval: this test set cannot tell on which side the model is.",
    None: "No threshold was given.",
}


def summary(score: Score, name: str, *, threshold: str = "none", verdict: str | None = None) -> str:
    """Return a table of name, score, interval and looks left, under its conclusion: success, failure or neutral.

    Parameters
    ----------
    name : str
        Of the model, shown as code.
    threshold : str
        As it is shown, for example "at least 0.8".
    verdict : {"met", "missed", "undecided"} or None
    """
    interval = score.confidence_interval().outward()
    # In a span of code nothing is markdown, HTML or a mention; only its end and that of a cell are.
    shown = " ".join("".join(one if one.isprintable() else " " for one in name).split())
    plain = "`" + (shown.replace("`", "'").replace("|", "\\|") or "-") + "`"
    cells = {
        "Model": plain,
        score.metric.capitalize(): f"{score.value:.4g}",
        "95 % interval": f"{interval.low:.4g} to {interval.high:.4g}",
        "Threshold": threshold,
        "Looks left": f"{score.remaining:,} of {score.n_looks:,}",
    }
    again = " Answered from its record: no look was taken." if score.replayed else ""
    return "\n".join(
        [
            f"### Test set: {CONCLUSIONS[verdict]}",
            "",
            f"{_WHY[verdict]}{again}",
            "",
            "| " + " | ".join(cells) + " |",
            "|" + " --- |" * len(cells),
            "| " + " | ".join(cells.values()) + " |",
            "",
            "",
        ]
    )

"""`hedgerow apply`: score the rows of a file by a calibrated model."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from hedgerow.cli import options
from hedgerow.cli.terminal import write_json, write_stdout
from hedgerow.errors import ParameterError


def apply(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model that `hedgerow multicalibrate` wrote.")],
    source: Annotated[
        str, typer.Argument(metavar="ROWS", help="A .csv or .parquet file with a score and the group columns.")
    ],
    score: Annotated[
        str | None, typer.Option(metavar="COL", help="The column of scores. [default: that of the fit]")
    ] = None,
    column: Annotated[str, typer.Option(metavar="NAME", help="Name of the new column.")] = "calibrated",
    out: Annotated[str | None, typer.Option(metavar="FILE", help="Write the rows with the new column there.")] = None,
    force: options.ForceFile = False,
    as_json: options.AsJson = False,
) -> None:
    """Add calibrated scores to a CSV or Parquet file, as one more column of your rows. Spends nothing."""
    from hedgerow.multicalibration.apply_file import apply_to_file, scored_before
    from hedgerow.multicalibration.model.model_file import check_destination, read_model

    if out is None:
        raise ParameterError(
            "HG116", rule="`apply` writes a file.", finding="`--out` was not given.", remedy="Try --out scored.csv."
        )
    check_destination(out, model, force=force, earlier=partial(scored_before, source=source, column=column))
    rows = apply_to_file(read_model(model), source, out, score=score, column=column)
    if as_json:
        write_json({"rows": rows, "out": out, "column": column})
    else:
        write_stdout(f"{rows} rows with column {column!r} written to {out}")

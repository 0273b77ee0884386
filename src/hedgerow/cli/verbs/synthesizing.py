"""`hedgerow synthesize`: synthetic files from released margins. `hedgerow pool`: what is estimated on them, as one."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Annotated

import typer

from hedgerow.cli import shared_options
from hedgerow.cli.terminal import write_json, write_stdout
from hedgerow.errors import ParameterError

CENTRE = "centre"
"""What the names of files begin with that were drawn from the fit itself."""


def pool(
    results: Annotated[
        str,
        typer.Argument(
            metavar="RESULTS.csv",
            help="Columns file, question, estimate, and variance or standard_error: a line for each file and question.",
        ),
    ],
    level: shared_options.Level = 0.95,
    as_json: shared_options.AsJson = False,
) -> None:
    """Pool what was estimated on the files of `hedgerow synthesize`: estimates whose intervals hold, at no price.

    Lines of files whose names begin with "centre" give the estimate, and show whether the files are biased.
    """
    from hedgerow.synthetic.pooling import pool as pooled_estimates

    files = read_results(results)
    drawn = [pairs for name, pairs in files.items() if not name.startswith(CENTRE)]
    centre = [pairs for name, pairs in files.items() if name.startswith(CENTRE)]
    pooled = pooled_estimates(
        [{question: estimate for question, (estimate, _) in pairs.items()} for pairs in drawn],
        [{question: variance for question, (_, variance) in pairs.items()} for pairs in drawn],
        centre=[{question: estimate for question, (estimate, _) in pairs.items()} for pairs in centre] or None,
    )
    if as_json:
        write_json(pooled.to_dict(level))
    else:
        write_stdout(pooled.summary(level))


def read_results(path: str) -> dict[str, dict[str, tuple[float, float]]]:
    """Return what was estimated: {file: {question: (estimate, variance)}} (HG250: the file is no such table)."""
    files: dict[str, dict[str, tuple[float, float]]] = {}
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as lines:
            for line in csv.DictReader(lines):
                own, question = files.setdefault(line["file"], {}), line.get("question") or "estimate"
                variance = float(line["variance"]) if "variance" in line else float(line["standard_error"]) ** 2
                if question in own:
                    raise ValueError
                own[question] = float(line["estimate"]), variance
    except (OSError, ValueError, KeyError, TypeError, csv.Error):
        raise ParameterError(
            "HG250",
            rule="Results to pool are a CSV file with the columns file, question, estimate, and variance or "
            "standard_error, with one line for each file and question.",
            finding=f"{path!r} is none.",
            remedy="Write a header and one line for each estimate, for example the lines "
            "file,question,estimate,standard_error and 01,slope,0.31,0.02.",
        ) from None
    return files


def synthesize(
    record: Annotated[str, typer.Argument(metavar="RECORD", help="margins.json, as `hedgerow margins` wrote it.")],
    *,
    out: Annotated[str, typer.Option(metavar="DIR", help="Write the files as CSV and Parquet, and a README, there.")],
    files: Annotated[int, typer.Option("--files", metavar="M", help="The number of files.")] = 50,
    rows: Annotated[
        int | None, typer.Option("--rows", metavar="N", help="Rows of a file. [default: the released number]")
    ] = None,
    force: shared_options.Force = False,
) -> None:
    """Write synthetic files from released margins alone: no data, no price. Pooled, their standard errors hold.

    The files carry interactions of as many columns as the largest table. README.md says how to pool.
    """
    from hedgerow.margins.release_margins import margins_from_record
    from hedgerow.reports.verify.verification import read_record

    made = margins_from_record(read_record(record), shown=False).synthesize(files, rows)
    names = made.write(out, force=force)
    write_stdout(f"Wrote {len(names)} files to {out}. {names[0]} says how to pool them.")

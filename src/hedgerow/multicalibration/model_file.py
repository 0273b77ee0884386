"""A model as plain JSON data with a version: what a file holds and what a ledger keeps. No pickle, no code.

A record with an unknown version, field or kind is refused as a whole: a model of which only a part was read would score
people by rules that nobody wrote. A file is written whole or not at all.

Scoring the rows of a CSV or Parquet file by a model: one column more, a block of rows at a time.

The rows belong to the person who runs it. To apply a public model to one's own rows is no release: nothing is priced,
and no engine is asked, since engines return counts and never rows. A CSV file is read here by Python's `csv`, because
the cells of each row are written as they were read, bytes that are no text included, and no engine returns those.
Declared values are compared as the fit compared them: as values of the column's type, in a CSV file as trimmed text.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.engines.cells import as_numbers
from hedgerow.engines.csv_header import read_header
from hedgerow.engines.files import open_file
from hedgerow.engines.reading import SourceFile, source_file
from hedgerow.engines.schema import BLANKS, comparable
from hedgerow.engines.source import open_source
from hedgerow.errors import DataError, HedgerowError, ParameterError
from hedgerow.inputs import note_input, why_kept
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.multicalibration.calibrated_model import CalibratedModel, Calibration, Loss, Patches, Residuals, Shifts
from hedgerow.multicalibration.declared_groups import CategoryGroups, Cuts, Disjoint, Predicate
from hedgerow.multicalibration.family import Attribute, Family, RecordColumns
from hedgerow.release.publication.write_file import can_be_written, written_whole
from hedgerow.release.record import READING

VERSION = 1
_LARGEST = 64 * 2**20
_ARRAYS = ("residual", "count", "predicted", "residual_sd", "count_sd")
_CALIBRATIONS: dict[str, Any] = {"shifts": Shifts, "patches": Patches}
_ATTRIBUTES: dict[str, Any] = {"categories": CategoryGroups, "cuts": Cuts, "disjoint": Disjoint, "predicate": Predicate}


def model_text(model: CalibratedModel) -> str:
    """Return the JSON text of a model; exact residuals, which are data, stay out of it."""
    read = (
        {}
        if model.request is None
        else {
            "reading": READING,
            "request": dict(model.request),
            "released": [[table.tolist() for table in each] for each in model.released],
        }
    )
    record = {
        "hedgerow_model": VERSION,
        **read,
        "mechanism": model.mechanism,
        "groups": family_record(model.family),
        "classes": list(model.classes),
        "n_buckets": model.n_buckets,
        "score": model.score,
        "release": _release_record(model),
        "calibrations": [calibration.to_dict() for calibration in model.calibrations],
        "before": [_residuals_record(residuals) for residuals in model.before],
        "after": [_residuals_record(residuals) for residuals in model.after],
        "certificate": None if model.certificate is None else model.certificate.to_dict(),
    }
    return json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"


def _release_record(model: CalibratedModel) -> dict[str, Any] | None:
    """Return who is protected, in the form of the record of a release, so that `hedgerow verify` reads a model too."""
    certificate = model.certificate
    if certificate is None:
        return None
    return {"relation": str(certificate.relation), "unit": certificate.unit, "n": model.n}


def model_from_text(text: str) -> CalibratedModel:
    """Read a model back.

    Raises
    ------
    DataError
        HG168: it is no model of a version that this program knows.
    """
    model = None
    try:
        record = json.loads(text)
        # What is written again differs where a field is missing, unknown or altered, or the version is another.
        model = _model(record)
        known = json.loads(model_text(model)) == record
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError, HedgerowError):
        known = False
    if model is None or not known:
        raise DataError(
            "HG168",
            rule=f"A model file is what hedgerow wrote, in version {VERSION}.",
            finding="The file is not a valid model: a field is missing, unknown or altered, or the version is unknown.",
            remedy="Use the file that `hedgerow multicalibrate` or `write_model` wrote, with a version of "
            "hedgerow that knows the format.",
        )
    return model


def _model(record: Mapping[str, Any]) -> CalibratedModel:
    family = family_of_record(record["groups"])
    calibrations = tuple(_calibration(entry, family) for entry in record["calibrations"])
    classes = tuple(record["classes"])
    models = 1 if len(classes) == 2 else len(classes)
    if not len(calibrations) == len(record["before"]) == len(record["after"]) == models:
        raise ValueError("calibrations and classes")
    if not (record["score"] is None or isinstance(record["score"], (str, int))):
        raise ValueError("score")
    certificate = record["certificate"]
    return CalibratedModel(
        family,
        classes,
        calibrations,
        int(record["n_buckets"]),
        str(record["mechanism"]),
        tuple(map(_residuals, record["before"])),
        tuple(map(_residuals, record["after"])),
        None if certificate is None else Certificate.from_dict(certificate),
        record["score"],
        None if record["release"] is None else record["release"]["n"],
        record.get("request"),
        tuple(tuple(np.array(table, dtype=np.float64) for table in each) for each in record.get("released", ())),
    )


def _calibration(record: Mapping[str, Any], family: Family) -> Calibration:
    made: Calibration = _CALIBRATIONS[record["kind"]].from_dict(record)
    low, high = record["low"], record["high"]
    fits = 0.0 <= low < high <= 1.0
    if not (fits and made.fits(family)):
        raise ValueError("calibration")
    return made


def family_record(family: Family) -> dict[str, Any]:
    """Return a family as plain JSON data; of a predicate only its name.

    >>> family_record(Family((CategoryGroups("sex", (0, 1)),), depth=1))
    {'depth': 1, 'attributes': [{'kind': 'categories', 'column': 'sex', 'values': [0, 1]}]}
    """
    return {"depth": family.depth, "attributes": [_attribute_record(attribute) for attribute in family.attributes]}


def _attribute_record(attribute: Attribute) -> dict[str, Any]:
    kind = next(name for name, cls in _ATTRIBUTES.items() if type(attribute) is cls)
    said = {field.name: getattr(attribute, field.name) for field in fields(_ATTRIBUTES[kind])}
    said.pop("function", None)
    return {"kind": kind, **{name: list(v) if isinstance(v, tuple) else v for name, v in said.items()}}


def family_of_record(record: Mapping[str, Any]) -> Family:
    """Return a family from its record; a predicate has lost its function (HG169 where it is called)."""
    return Family(tuple(_attribute(attribute) for attribute in record["attributes"]), record["depth"])


def _attribute(record: Mapping[str, Any]) -> Attribute:
    said = {name: tuple(v) if isinstance(v, list) else v for name, v in record.items() if name != "kind"}
    if record["kind"] == "predicate":
        said["function"] = _lost
    attribute: Attribute = _ATTRIBUTES[record["kind"]](**said)
    return attribute


def _lost(_: object) -> None:
    raise ParameterError(
        "HG169",
        rule="A model file holds no code, so it stores only the name of a predicate.",
        finding="A model that was read from a file or a ledger cannot compute a predicate.",
        remedy='Write the group into a column, for example masks("young"), and fit again.',
    )


def _residuals_record(residuals: Residuals | None) -> dict[str, Any] | None:
    if residuals is None or not residuals.private:
        return None
    losses = {"log_loss": residuals.log_loss, "brier": residuals.brier}
    return {
        **{name: np.round(getattr(residuals, name), 6).tolist() for name in _ARRAYS},
        "groups": list(residuals.groups),
        "n": residuals.n,
        **{name: None if loss is None else [loss.value, loss.noise_sd] for name, loss in losses.items()},
    }


def _residuals(record: Mapping[str, Any] | None) -> Residuals | None:
    if record is None:
        return None
    log_loss, brier = (None if record[name] is None else Loss(*record[name]) for name in ("log_loss", "brier"))
    arrays = {name: np.asarray(record[name], dtype=np.float64) for name in _ARRAYS}
    return Residuals(tuple(record["groups"]), **arrays, n=record["n"], private=True, log_loss=log_loss, brier=brier)


def write_model(model: CalibratedModel, path: str | Path) -> None:
    """Write a calibrated model to a JSON file. An existing file at that path is replaced.

    Parameters
    ----------
    model : CalibratedModel
        The ``model_`` of a fitted `Multicalibrator`.
    path : str or Path

    Raises
    ------
    ParameterError
        HG169: a group is defined by a Python function, which a file cannot hold.
    DataError
        HG168: the file cannot be written.

    Examples
    --------
    >>> import tempfile, numpy as np, pandas as pd
    >>> from hedgerow.multicalibration import Multicalibrator
    >>> people = pd.DataFrame({"score": np.linspace(0.1, 0.9, 500), "sex": [0, 1] * 250})
    >>> clf = Multicalibrator(groups={"sex": [0, 1]}, relation="add-remove", epsilon=1.0)
    >>> clf = clf.fit(people, (people["score"] > 0.5).astype(int))
    >>> write_model(clf.model_, tempfile.mkdtemp() + "/model.json")
    """
    if any(isinstance(attribute, Predicate) for attribute in model.family.attributes):
        raise ParameterError(
            "HG169",
            rule="A model file holds no code, so a group that is a function cannot be written.",
            finding="One of the groups of the model is a function.",
            remedy='Write the group into a column, for example masks("young"), and fit again.',
        )
    target, failed = Path(path), False
    try:
        with written_whole(target) as passing:
            passing.write_text(model_text(model), encoding="utf-8")
    except OSError:
        failed = True
    if failed:
        raise DataError("HG168", rule="A model is written to a file.", finding=f"{target.name!r} cannot be written.")


def check_destination(
    path: str | Path, *apart: str | Path | None, force: bool = True, earlier: Callable[[Path], bool] | None = None
) -> None:
    """Refuse, before anything is spent, a file that cannot be written or must not be replaced (HG168).

    Parameters
    ----------
    path : path
        Where to write. A ledger is never replaced: its budget would be available again.
    apart : path or None
        What else is read or kept: data, facts, a ledger, a model.
    force : bool
        Whether an existing file is replaced whatever it holds, if it is none of those.
    earlier : callable, optional
        Recognises a file that the same command wrote before, which is replaced without `force`.
    """
    target = Path(path)
    if not can_be_written(target):
        raise DataError(
            "HG168",
            rule="A file can be written only to an existing folder.",
            finding=f"{target.name!r} cannot be written.",
            remedy="Create the folder first.",
        )
    note_input(*apart)
    if why_kept(target) is not None:
        raise DataError(
            "HG168",
            rule="hedgerow never overwrites data, facts, a ledger, or a model that it has read.",
            finding=f"{target.name!r} is one of them.",
            remedy="Name another output file. Nothing was read or spent.",
        )
    if not force and target.exists() and not (earlier is not None and earlier(target)):
        raise DataError(
            "HG168",
            rule="A file that another command wrote is replaced only with `force`.",
            finding=f"{target.name!r} is there already.",
            remedy="Name another file, or use `force`.",
        )


def is_model(path: Path) -> bool:
    """Return whether a file holds a model, which another fit may replace."""
    try:
        read_model(path)
        return True
    except DataError:
        return False


def read_model(path: str | Path) -> CalibratedModel:
    """Read a calibrated model from a file that `write_model` wrote.

    Raises
    ------
    DataError
        HG168: the file does not exist, or is not a model of a known version.
    """
    text: str | None = None
    try:
        # Regular files only: a device may have no end.
        if Path(path).is_file() and Path(path).stat().st_size <= _LARGEST:
            text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        text = None
    if text is None:
        raise DataError(
            "HG168",
            rule="A model is read from a JSON file.",
            finding=f"{Path(path).name!r} cannot be read as one.",
            remedy="Give the file that `hedgerow multicalibrate` wrote.",
        )
    return model_from_text(text)


_BLOCK = 50_000
_LONGEST = 2**31 - 1
_Texts = NDArray[Any]


@dataclass(frozen=True, slots=True)
class _Scoring:
    """A model of two classes, with the columns that it reads and the one that it writes."""

    model: CalibratedModel
    score: str
    column: str

    @property
    def needed(self) -> list[str]:
        return list(dict.fromkeys([self.score, *_group_columns(self.model.family)]))

    def values(self, columns: Mapping[str, _Texts]) -> NDArray[np.float64]:
        """Return the calibrated score of each row, NaN where it has none."""
        scores = as_numbers(columns[self.score])
        scores = np.where(np.isfinite(scores), scores, np.nan)
        calibrated = self.model.calibrated(RecordColumns(columns), scores)[:, 1]
        return np.where(np.isnan(scores), np.nan, calibrated)


def apply_to_file(
    model: CalibratedModel, source: str | Path, out: str | Path, *, score: str | None = None, column: str = "calibrated"
) -> int:
    """Write the rows of a file to another with their calibrated scores; return how many there were.

    Parameters
    ----------
    model : CalibratedModel
        It has two classes, and its groups are columns with declared values.
    source : path
        A CSV or Parquet file (Parquet needs pyarrow).
    out : path
        Another file of the same kind; it is written whole or not at all.
    score : str, optional
        The column of scores; by default the one that the model was fitted on.
    column : str
        The name of the new column; its cell is empty where the score is not a number.

    Raises
    ------
    ParameterError, DataError
        HG166 for columns that do not fit, HG168 where `out` cannot be written, HG2xx for a file that cannot be read.
    """
    file, target = source_file(source), Path(out)
    if file.format not in ("csv", "parquet"):
        raise DataError(
            "HG166",
            rule="The command `apply` scores the rows of a CSV or Parquet file.",
            finding=f"{file.name!r} is neither.",
            remedy="Write the table to a CSV or Parquet file, or score in Python: model.calibrated(columns, scores).",
        )
    if target.exists() and target.samefile(file.path):
        raise ParameterError(
            "HG166",
            rule="Scores are written to a file other than the input.",
            finding="The output file is the input file.",
        )
    if target.suffix.lower() in (".csv", ".parquet") and target.suffix.lower() != f".{file.format}":
        raise ParameterError(
            "HG166",
            rule="Scored rows are written in the format of the input file.",
            finding=f"{file.name!r} is {file.format}, and {target.name!r} is not.",
            remedy=f"Name it {target.stem}.{file.format}.",
        )
    check_destination(target)
    if is_model(target):
        raise DataError(
            "HG168",
            rule="Scored rows cannot replace a model.",
            finding=f"{target.name!r} holds one.",
            remedy="Name another output file.",
        )
    kinds = open_source(source).columns
    named = model.score if score is None else score
    _check(model, kinds, named, column)
    scoring = _Scoring(replace(model, family=_typed(model.family, kinds)), str(named), column)
    write: Callable[[SourceFile, Path, _Scoring], int] = _csv if file.format == "csv" else _parquet
    try:
        with written_whole(target) as passing:
            return write(file, passing, scoring)
    except HedgerowError:
        raise
    except (OSError, ValueError, csv.Error):
        # Without the reader's message, which may quote a cell.
        pass
    raise DataError(
        "HG168",
        rule="The scored rows are written to a file in the folder of the input file.",
        finding=f"{file.name!r} could not be read to its end, or {target.name!r} not written.",
        remedy="Check that the folder can be written and has room on its disk.",
    )


def scored_before(target: Path, *, source: str | Path, column: str) -> bool:
    """Return whether a file has the columns that scoring `source` gives, so that scoring again may replace it."""
    try:
        # Not opened as a source: it would count as an input, which may not be replaced.
        return list(open_file(target, table=None).columns) == [*open_source(source).columns, column]
    except HedgerowError:
        return False


def _csv(file: SourceFile, target: Path, scoring: _Scoring) -> int:
    header, written = read_header(file), 0
    width, positions = len(header.names), {name: header.names.index(name) for name in scoring.needed}
    with target.open("w", encoding="utf-8", errors="surrogateescape", newline="") as output:
        writer = csv.writer(output, delimiter=header.delimiter, lineterminator="\n")
        writer.writerow([*header.names, scoring.column])
        for rows in _blocks(file.path, header.delimiter):
            full = [[*row[:width], *[""] * (width - len(row))] for row in rows]
            texts = {
                name: np.array([row[index].strip(BLANKS) for row in full], dtype=object)
                for name, index in positions.items()
            }
            values = scoring.values(texts)
            cells = ("" if np.isnan(value) else f"{value:.9g}" for value in values)
            writer.writerows([*row, cell] for row, cell in zip(full, cells, strict=True))
            written += len(full)
    return written


def _blocks(path: str, delimiter: str) -> Iterator[list[list[str]]]:
    # No cell stops the reading: neither bytes that are no text, which are written as they were, nor a very long cell.
    limit = csv.field_size_limit(_LONGEST)
    try:
        with Path(path).open(encoding="utf-8-sig", errors="surrogateescape", newline="") as opened:
            rows = (row for row in csv.reader(opened, delimiter=delimiter) if row)
            next(rows, None)
            while block := list(islice(rows, _BLOCK)):
                yield block
    finally:
        csv.field_size_limit(limit)


def _parquet(file: SourceFile, target: Path, scoring: _Scoring) -> int:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise ParameterError(
            "HG166",
            rule="Parquet files are read and written by pyarrow.",
            finding="The package pyarrow is not installed.",
        ) from None
    written = 0
    with parquet.ParquetFile(file.path) as read:
        schema = read.schema_arrow.append(pyarrow.field(scoring.column, pyarrow.float64()))
        with parquet.ParquetWriter(target, schema) as output:
            for batch in read.iter_batches(_BLOCK):
                columns = {name: batch.column(name).to_numpy(zero_copy_only=False) for name in scoring.needed}
                values = pyarrow.array(scoring.values(columns), from_pandas=True)
                output.write_batch(pyarrow.record_batch([*batch.columns, values], schema=schema))
                written += batch.num_rows
    return written


def _typed(family: Family, kinds: Mapping[str, str]) -> Family:
    """Return the family with its values as the file's columns hold them."""
    typed = [
        replace(groups, values=tuple(comparable(groups.column, value, kinds[groups.column]) for value in groups.values))
        for groups in family.attributes
        if isinstance(groups, CategoryGroups) and isinstance(groups.column, str)
    ]
    return Family(tuple(typed), family.depth)


def _group_columns(family: Family) -> list[str]:
    return [str(attribute.column) for attribute in family.attributes if isinstance(attribute, CategoryGroups)]


def _check(model: CalibratedModel, kinds: Mapping[str, str], score: object, column: str) -> None:
    attributes = model.family.attributes
    fits = all(isinstance(groups, CategoryGroups) and isinstance(groups.column, str) for groups in attributes)
    missing = [name for name in (score, *_group_columns(model.family)) if name not in kinds]
    if not fits or len(model.classes) != 2 or missing or column in kinds:
        named = " or ".join(repr(name) for name in missing)
        raise DataError(
            "HG166",
            rule="A file can be scored only by a model of two classes whose groups are columns, if the file has these "
            "columns and the score.",
            finding=f"The file has no column {named}." if missing else "This model or the new column does not fit.",
            remedy="Name the column of scores with `score`, and the new column with `column`.",
        )

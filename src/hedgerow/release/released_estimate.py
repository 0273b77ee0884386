"""`ReleasedEstimate`: the one number of a release, with the release behind it.

A shorthand such as ``survey.mean("age", …)`` without groups makes one number. What it returns is that estimate: one
computes with it at once. What a release tells as a whole (the certificate, the notes, files) it tells too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, overload

import numpy as np

from hedgerow.inference.estimate import Estimate
from hedgerow.mechanisms.certificate import Certificate
from hedgerow.release.result import Release

_OPERATIONS = {np.add: "+", np.subtract: "-", np.multiply: "*", np.true_divide: "/"}
_FUNCTIONS = {np.log: "log", np.exp: "exp", np.sqrt: "sqrt"}


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ReleasedEstimate(Estimate):
    """The only number of a release, with its error; the guarantee is that of ``.certificate``.

    It is an `Estimate`: ``.estimate``, ``.standard_error``, ``.confidence_interval()``, ``.plot()`` and ``.to_dict()``
    are those of the number, and one computes with it. Everything else of a release works on it as on a release of one
    number: ``.certificate``, ``.notes``, ``.to_json()``, ``.to_csv()``, ``.to_frame()``, ``.write(path)``, ``.ask(…)``,
    ``[0]``, ``len`` and unpacking; `hedgerow.combine` takes it.

    Attributes
    ----------
    release : Release
        The release, a sequence of this one estimate.

    Examples
    --------
    >>> import pyarrow, hedgerow as hg
    >>> survey = hg.open(pyarrow.table({"age": [30.0, 50.0] * 500}), relation="replace-one")
    >>> age = survey.mean("age", bounds=(0, 100), step=1, epsilon=1.0)
    >>> low, high = age.confidence_interval()
    >>> low < float(age) < high, age.certificate.epsilon <= 1.0, (age - 40).statistic
    (True, True, 'mean(age) - 40')
    """

    release: Release = field(kw_only=True)

    @classmethod
    def of(cls, release: Release) -> ReleasedEstimate:
        """Return the number of a release of one number."""
        (number,) = release.estimates
        return cls(**{part.name: getattr(number, part.name) for part in fields(Estimate)}, release=release)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).of, (self.release,)

    def __eq__(self, other: object) -> bool:
        return self.plain() == (other.plain() if isinstance(other, ReleasedEstimate) else other)

    __hash__ = None  # type: ignore[assignment]  # an estimate has a mapping, and so no hash

    def plain(self) -> Estimate:
        """Return the estimate without its release: as it stands in the release."""
        return self.release.estimates[0]

    def _combined(  # type: ignore[override]  # what is computed from the number was not released
        self, symbol: str, other: object, *, swapped: bool = False
    ) -> Estimate:
        """Return ``self symbol other``; see `Estimate._combined`."""
        operand = other.plain() if isinstance(other, ReleasedEstimate) else other
        return self.plain()._combined(symbol, operand, swapped=swapped)

    def _applied(self, name: str) -> Estimate:  # type: ignore[override]  # as of `combined`
        """Return log, exp or sqrt; see `Estimate._applied`."""
        return self.plain()._applied(name)

    def of_others(self) -> Estimate:
        """Return the number to be computed with beside those of different people; see `Estimate.of_others`."""
        return self.plain().of_others()

    def _labelled(self, labels: Mapping[str, Mapping[Any, str]]) -> Estimate:
        """Return the number with the labels of its cell; see `Estimate._labelled`."""
        return self.plain()._labelled(labels)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: object) -> Any:
        # NumPy would take what has a length for an array.
        if method != "__call__" or options:
            return NotImplemented
        if ufunc in _FUNCTIONS:
            return self._applied(_FUNCTIONS[ufunc])
        swapped = inputs[0] is not self
        other = inputs[0] if swapped else inputs[-1]
        if ufunc not in _OPERATIONS or np.ndim(other):
            return NotImplemented
        return self._combined(_OPERATIONS[ufunc], other, swapped=swapped)

    @property
    def certificate(self) -> Certificate | None:
        """What the release costs; see `Release`."""
        return self.release.certificate

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know about the release."""
        return self.release.notes

    def ask(self, expression: str) -> Estimate:
        """Return the estimate of an expression; see `Release.ask`."""
        return self.release.ask(expression)

    def to_json(self, path: str | Path | None = None, *, level: float = 0.95) -> str:
        """Return the record of the release as JSON text; see `Release.to_json`."""
        return self.release.to_json(path, level=level)

    @overload
    def to_csv(self, path: None = None, *, level: float = 0.95) -> str: ...
    @overload
    def to_csv(self, path: str | Path, *, level: float = 0.95) -> None: ...
    def to_csv(self, path: str | Path | None = None, *, level: float = 0.95) -> str | None:
        """Return or write CSV; see `Release.to_csv`."""
        return self.release.to_csv(level=level) if path is None else self.release.to_csv(path, level=level)

    def to_latex(self, path: str | Path | None = None, *, level: float = 0.95, title: str | None = None) -> str:
        """Return a LaTeX table of one row; see `Release.to_latex`."""
        return self.release.to_latex(path, level=level, title=title)

    def to_markdown(self, path: str | Path | None = None, *, level: float = 0.95, title: str | None = None) -> str:
        """Return a Markdown table of one row; see `Release.to_markdown`."""
        return self.release.to_markdown(path, level=level, title=title)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a data frame of one row; see `Release.to_frame`."""
        return self.release.to_frame(backend)

    def write(self, path: str | Path, *, level: float = 0.95, title: str | None = None) -> None:
        """Write the release in the format that the path ends with; see `Release.write`."""
        self.release.write(path, level=level, title=title)

    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Iterator[Estimate]:
        return iter(self.release)

    @overload
    def __getitem__(self, index: int | str | tuple[object, ...]) -> Estimate: ...
    @overload
    def __getitem__(self, index: slice) -> Any: ...
    def __getitem__(self, index: int | str | tuple[object, ...] | slice) -> Any:
        return self.release[index]

    def __getattr__(self, name: str) -> Any:
        # What else a release has, such as its source and its distributions.
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.release, name)

    def __repr__(self) -> str:
        again = ", replayed" if self.release.replayed else ""
        return f"<Estimate {self.plain()}; {self.release.price()}{again}>"

    def __str__(self) -> str:
        return str(self.release)

    def _repr_html_(self) -> str:
        return self.release._repr_html_()


def alone(release: Release, by: object) -> Release | ReleasedEstimate:
    """Return the number of a release that was asked without groups and has one number; else the release."""
    return ReleasedEstimate.of(release) if by is None and len(release) == 1 else release

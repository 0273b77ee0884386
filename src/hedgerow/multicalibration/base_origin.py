"""Where a base model comes from, and what a certificate says of it: a price of the calibration does not cover it."""

from __future__ import annotations

from enum import Enum

CONSENT = "on_private_rows_without_protection"
"""The one value of `base_fit`: a base model may be fitted on the very records whose protection is asked for."""

NOT_PROTECTED = "NOT PROTECTED"
"""How the line of a certificate begins that takes back its price for the records of a fit."""

_ALONE = " A record's score depends on no other record of the fit."


class BaseOrigin(Enum):
    """Where a base model comes from; the value is what stands on the certificate.

    ===============  ====================================================================
    `GIVEN`          it was fitted before, or its scores are precomputed
    `CERTIFIED`      it was fitted before and has a ``certificate_`` of its own
    `APART`          it was fitted in this call on rows that were passed apart
    `UNPROTECTED`    it was fitted on the private rows themselves, with the caller's consent
    ===============  ====================================================================
    """

    GIVEN = (
        "The base model, its preprocessing and the choice of groups are public facts here: what they tell of the "
        "records that they were made from is not covered." + _ALONE
    )
    CERTIFIED = (
        "The base model carries a certificate of its own, whose price adds to this one; the groups are public facts."
        + _ALONE
    )
    APART = (
        "The base model was fitted in the same call on rows passed apart, which this price does not cover: it holds "
        "for a record that is not among them. The choice of groups is a public fact." + _ALONE
    )
    UNPROTECTED = (
        f"{NOT_PROTECTED}: base_fit={CONSENT!r} was given, so the base model was fitted on the same records without "
        "any protection. It may tell every record, labels included, and so may the model, its report and its "
        "predictions, which are made from its scores. The price is that of the calibration of a base model that is "
        "public; for the records of this fit no ε holds."
    )

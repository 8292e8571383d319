"""All cases, by their row of the table."""

from __future__ import annotations

from tests.semantics import mail_cases, turn_cases
from tests.semantics.casebook import CASES

PARTS = (turn_cases, mail_cases)  # each enters its cases as it is loaded
__all__ = ["CASES"]

"""Whether a journal is whole: the file, the order, the text, and what became of every message.

Events are the truth, and tables index them: everything is told again from the events, one after the other, and
held against what the tables say.
"""

from dashboard.journal.checking.check import check
from dashboard.journal.checking.report import Fault, Report

__all__ = ["Fault", "Report", "check"]

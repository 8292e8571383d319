"""The rules of mail, each one step inside a transaction of whatever ledger keeps it.

The address is resolved at send (A5); a claim appends to the history and records the delivery in the same
transaction (A8); "is anything pending?" and "this run ends" are one transaction too (A9).
"""

from dashboard.journal.mailroom.accepting import accept, broadcast
from dashboard.journal.mailroom.amending import amend
from dashboard.journal.mailroom.claiming import finish, take
from dashboard.journal.mailroom.ending import cancel_turn, follow, precede, reap, redundant
from dashboard.journal.mailroom.foreign import drain, return_unreadable

__all__ = [
    "accept",
    "amend",
    "broadcast",
    "cancel_turn",
    "drain",
    "finish",
    "follow",
    "precede",
    "reap",
    "redundant",
    "return_unreadable",
    "take",
]

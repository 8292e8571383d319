"""From the session to the projection: all that is ready is taken at once, and folded once per frame."""

from __future__ import annotations

from dashboard.core.changes import Changes
from dashboard.core.projection import Projection
from dashboard.core.sessions import OperatorSession

BATCH = 2_000  # events a frame at most, so that catching up with a long session does not hold the keys


class Feed:
    """Keeps a projection in step with a session.

    Args:
        session: where the events come from.
    """

    def __init__(self, session: OperatorSession) -> None:
        self._session = session
        self.projection = Projection()

    def poll(self) -> Changes | None:
        """Take what is new; ``None`` if nothing is. Costs next to nothing then."""
        records = self._session.read(self.projection.seq, BATCH)
        return self.projection.fold(records) if records else None

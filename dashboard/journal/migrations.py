"""How a journal of an older format becomes one of this format: a step from each to the next, by ``user_version``.

A step only adds, with defaults, so that a process of the older format that has the file open goes on writing its
named columns. Each is one transaction, so that a journal is of one format or of the next, wherever that is ended.
"""

from __future__ import annotations

from collections.abc import Mapping

import apsw

# Of the messages of a process of format 1 ``accepted`` stays empty, which is their place. The index answers
# whether anything wakes by itself.
FROM_1 = """
ALTER TABLE message ADD COLUMN accepted INTEGER;
ALTER TABLE message ADD COLUMN held INTEGER NOT NULL DEFAULT 0;
ALTER TABLE message ADD COLUMN taken INTEGER NOT NULL DEFAULT 0;
ALTER TABLE message ADD COLUMN original BLOB;
DROP INDEX message_open;
CREATE INDEX message_open ON message (run_id, lane, place, wake, held, taken, expires_at) WHERE state = 'queued';
"""
STEPS = {1: FROM_1}  # what leads from this format to the one after it


def migrate(connection: apsw.Connection, wanted: int, steps: Mapping[int, str] = STEPS) -> None:
    """Bring a journal to a format, step by step; several processes may do so at once.

    Args:
        connection: open, outside of a transaction; the journal is of a format from 1 to the wanted one.
        wanted: the format.
        steps: what leads from each format to the next.

    Raises:
        apsw.Error: a step failed; the journal is of the format that it was of before that step.
    """
    while connection.pragma("user_version") < wanted:
        connection.execute("BEGIN IMMEDIATE")
        try:
            version = connection.pragma("user_version")  # looked at again: another process may have been faster
            if version < wanted:
                connection.execute(f"{steps[version]}; PRAGMA user_version = {version + 1}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:  # a full disk makes SQLite roll back by itself
                connection.execute("ROLLBACK")
            raise

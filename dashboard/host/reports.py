"""Reports: files that a run writes into its session's folder, for the session's owner alone."""

from __future__ import annotations

import os
import re
from pathlib import Path

from dashboard.agent.tools import Tool, tool
from dashboard.core.errors import ToolError

_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._ -]{0,99}")


class ReportFolder:
    """Writes reports into a session's folder, for its owner alone.

    Args:
        folder: the session's folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write_report(self, name: str, text: str) -> str:
        """Write a report into the session's folder, in place of an earlier one of that name.

        Args:
            name: a plain file name; .md is added where there is no suffix.
            text: the report, in Markdown.
        """
        if _PLAIN_NAME.fullmatch(name) is None:
            why = "a report's name is letters, digits, dots, dashes, underscores and spaces, 100 at most"
            raise ToolError(f"{name!r} is not a plain file name", why, "Choose a name such as incident-report")
        reports = self._folder / "reports"
        reports.mkdir(mode=0o700, parents=True, exist_ok=True)
        place = reports / (name if Path(name).suffix else f"{name}.md")
        content = text.encode("utf-8", "replace")
        part = reports / f".{place.name}.part"
        part.unlink(missing_ok=True)
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb") as stream:
            stream.write(content)
        part.replace(place)  # whoever opens the report sees the old one or the new one, never half of one
        return f"wrote reports/{place.name} ({len(content)} bytes)"


def report_tool(folder: Path) -> Tool:
    """Give ``write_report``, which writes into a session's ``reports/``.

    Args:
        folder: the session's folder.
    """
    return tool(ReportFolder(folder).write_report)

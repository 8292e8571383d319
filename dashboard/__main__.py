"""``python -m dashboard``, and the commands ``dashboard`` and ``subagent-dashboard``."""

from __future__ import annotations

from dashboard.cli.commands import main

if __name__ == "__main__":
    main()

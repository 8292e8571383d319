"""An idle console: what it costs to look at a session in which nothing happens, beside an idle Textual app."""

from __future__ import annotations

import asyncio
import os
import pty
import subprocess
import sys
import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from dashboard.core.events import RunStarted, TurnFinished
from dashboard.journal.home import make_session_folder
from dashboard.journal.session import JournalHostSession

SECONDS = 8.0
SETTLING = 3.0
RUNS = 6
BARE = "from textual.app import App\nApp().run()"


def cpu_share(command: list[str], home: str) -> float:
    """Give the share of one core that a program in a terminal uses, once it has come up."""
    master, slave = pty.openpty()
    environment = {**os.environ, "DASHBOARD_HOME": home, "TERM": "xterm-256color", "COLUMNS": "160", "LINES": "46"}
    process = subprocess.Popen(
        command, stdin=slave, stdout=slave, stderr=slave, env=environment, start_new_session=True
    )
    os.close(slave)
    threading.Thread(target=_swallow, args=(master,), daemon=True).start()
    time.sleep(SETTLING)
    before = _cpu_seconds(process.pid)
    time.sleep(SECONDS)
    used = _cpu_seconds(process.pid) - before
    if process.poll() is not None:
        raise RuntimeError(f"{command} ended by itself, with status {process.returncode}")
    process.kill()
    process.wait()
    return used / SECONDS


def _swallow(master: int) -> None:
    try:
        while os.read(master, 1 << 16):
            pass
    except OSError:
        os.close(master)


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def _attached(home: str) -> float:
    os.environ["DASHBOARD_HOME"] = home
    host = JournalHostSession(make_session_folder("20260101-000000-aaaa"))
    await host.start("0", "bench", ())
    for number in range(1, RUNS + 1):
        run_id = f"run_{number}"
        host.emit(RunStarted(run_id=run_id, label="main", ordinal=number, task="t", max_iterations=3))
        host.emit(TurnFinished(run_id=run_id, turn=1, answer="done"))
    share = asyncio.create_task(
        asyncio.to_thread(cpu_share, [sys.executable, "-m", "dashboard", "attach", host.folder.name], home)
    )
    while not share.done():
        host.beat()  # once a second, as a host does
        await asyncio.wait([share], timeout=1.0)
    await host.close("measured")
    return await share


def main() -> None:
    """Print both shares."""
    if not Path("/proc/self/stat").exists():
        print("no /proc here: not measured")
        return
    with TemporaryDirectory() as home:
        bare = cpu_share([sys.executable, "-c", BARE], home)
        ours = asyncio.run(_attached(home))
    print(f"{'idle console, ' + str(RUNS) + ' runs':<38} {ours:.1%} of a core   bare Textual app {bare:.1%}")


if __name__ == "__main__":
    main()

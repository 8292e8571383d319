"""``make bench``: every benchmark, printed beside its baseline. Not a test: machines are shared and noisy."""

from __future__ import annotations

from tests.bench import idle_console, loop_overhead, mail_costs, processes


def main() -> None:
    """Run them all."""
    for bench in (mail_costs, loop_overhead, processes, idle_console):
        print(f"\n{bench.__doc__}")
        bench.main()


if __name__ == "__main__":
    main()

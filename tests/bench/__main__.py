"""``make bench``: every benchmark, printed beside its baseline. Not a test: machines are shared and noisy."""

from __future__ import annotations

from tests.bench import loop_overhead, mail_costs


def main() -> None:
    """Run them all."""
    for bench in (mail_costs, loop_overhead):
        print(f"\n{bench.__doc__}")  # noqa: T201
        bench.main()


if __name__ == "__main__":
    main()

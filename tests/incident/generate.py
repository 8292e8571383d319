"""Writes the staging incident that ships with the package: seeded, no clock, the same bytes every time.

The story, 18 November 2025, staging, UTC. At 14:02:10 release r42 rolls out settings v42, in which
``database.pool.max_connections`` of the worker lost a zero (40 -> 4). 40 s later the worker's pool is exhausted;
its retries do not wait and open connections of their own, past the pool. At 14:03:12 the database is out of
connection slots, at 14:03:31 the API times out, at 14:03:48 the gateway answers 502. Loud and innocent: a cache
that fails to keep its hot set all day, a certificate whose renewal fails every half hour, an earlier gateway
release, a slow query now and then. Each log alone points elsewhere; deploy.log, the two settings files, worker.log
and db.log together point at the one line.

Run ``python tests/incident/generate.py`` to write ``dashboard/host/demo/staging``.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

STAGING = Path(__file__).resolve().parents[2] / "dashboard" / "host" / "demo" / "staging"
DAY = datetime(2025, 11, 18, tzinfo=UTC)
BEGIN, END = DAY + timedelta(hours=13), DAY + timedelta(hours=14, minutes=25)
ROLLOUT = DAY + timedelta(hours=14, minutes=2, seconds=10, milliseconds=417)
POOL = ROLLOUT + timedelta(seconds=40, milliseconds=112)
SLOTS = ROLLOUT + timedelta(seconds=62, milliseconds=390)
TIMEOUTS = ROLLOUT + timedelta(seconds=81, milliseconds=51)
BAD_GATEWAY = ROLLOUT + timedelta(seconds=98)

Row = tuple[datetime, str]
Rows = list[Row]
Form = Callable[[datetime], str]
SEED = 42


def iso(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z"


def comma(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03d}"


def postgres(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S}.{at.microsecond // 1000:03d} UTC"


def nginx(at: datetime) -> str:
    return f"{at:%d/%b/%Y:%H:%M:%S} +0000"


def nginx_error(at: datetime) -> str:
    return f"{at:%Y/%m/%d %H:%M:%S}"


def syslog(at: datetime) -> str:
    return f"{at:%b} {at.day:2d} {at:%H:%M:%S}"


def ticks(dice: random.Random, begin: datetime, end: datetime, seconds: float) -> list[datetime]:
    """Give instants at random gaps that average so many seconds."""
    found, at, widest = [], begin, int(2000 * seconds)
    while (at := at + timedelta(milliseconds=dice.randrange(1, widest))) < end:
        found.append(at)
    return found


def trace(dice: random.Random) -> str:
    return f"{dice.getrandbits(64):016x}"


PATHS = ("/v1/orders", "/v1/orders/{}", "/v1/carts/{}", "/v1/catalog/items/{}", "/v1/payments", "/v1/stock/{}")


def path(dice: random.Random) -> str:
    return dice.choice(PATHS).format(dice.randrange(1000, 99999))


def api_log(dice: random.Random) -> str:
    rows: Rows = []
    for at in ticks(dice, BEGIN, END, 1.35):
        calm = at < TIMEOUTS or dice.random() < 0.35
        if calm:
            took = dice.randrange(9, 240)
            text = f"INFO  api.http request done method=GET path={path(dice)} status=200 took_ms={took}"
            rows.append((at, f"{iso(at)} {text} trace={trace(dice)}"))
    for at in ticks(dice, BEGIN, END, 210):
        text = f"ERROR api.payments card declined by the provider sandbox code={dice.randrange(40, 60)}"
        rows.append((at, f"{iso(at)} {text} trace={trace(dice)}"))
    for at in ticks(dice, TIMEOUTS, END, 0.62):
        took = dice.randrange(5000, 5040)
        text = f"ERROR api.orders upstream timeout after {took} ms waiting for a database session"
        rows.append((at, f"{iso(at)} {text} path={path(dice)} trace={trace(dice)}"))
    for at in ticks(dice, TIMEOUTS + timedelta(seconds=20), END, 6):
        rows.append((at, f"{iso(at)} ERROR api.health readiness failed: orders-db did not answer in 2000 ms"))
    for at in ticks(dice, TIMEOUTS + timedelta(seconds=45), END, 11):
        dropped = dice.randrange(20, 90)
        text = f"WARN  api.breaker circuit open for orders-db, shedding load, {dropped} requests dropped"
        rows.append((at, f"{iso(at)} {text}"))
    return lines(
        rows,
        TIMEOUTS,
        f"{iso(TIMEOUTS)} ERROR api.orders upstream timeout after 5004 ms waiting for a "
        f"database session path=/v1/orders/48213 trace={trace(dice)}",
    )


def worker_log(dice: random.Random) -> str:
    rows: Rows = []
    queues = ("invoice", "reserve-stock", "send-mail", "reindex")

    def worker() -> str:
        return f"[worker-{dice.randrange(1, 4)}]"

    for at in ticks(dice, BEGIN, END, 1.9):
        if at < POOL or dice.random() < 0.2:
            text = f"INFO  {worker()} job {dice.choice(queues)} done id={dice.randrange(10**6, 10**7)}"
            rows.append((at, f"{comma(at)} {text} took_ms={dice.randrange(20, 900)} trace={trace(dice)}"))
    for at in ticks(dice, BEGIN, POOL, 400):
        text = f"ERROR {worker()} job send-mail failed: mailbox rejected by the sandbox, not retried"
        rows.append((at, f"{comma(at)} {text} trace={trace(dice)}"))
    for number in (1, 2, 3):
        at = ROLLOUT + timedelta(seconds=2 * number, milliseconds=137 * number)
        rows.append(
            (at, f"{comma(at)} INFO  [worker-{number}] settings v42 loaded: pool.max_connections=4 concurrency=32")
        )
    for at in ticks(dice, POOL, END, 1.1):
        text = (
            f"ERROR {worker()} pool exhausted: 4 of 4 connections in use, waited {dice.randrange(5000, 5020)} ms"
        )
        rows.append((at, f"{comma(at)} {text} trace={trace(dice)}"))
    for at in ticks(dice, POOL + timedelta(seconds=5), END, 0.8):
        text = f"WARN  {worker()} retry {dice.randrange(1, 60)} at once (backoff_ms=0) after the failed checkout, "
        text += f"opening a connection outside the pool id={dice.randrange(10**6, 10**7)}"
        rows.append((at, f"{comma(at)} {text} trace={trace(dice)}"))
    for at in ticks(dice, SLOTS + timedelta(seconds=1), END, 2.6):
        text = f'ERROR {worker()} connect failed: FATAL: too many connections for role "orders_worker"'
        rows.append((at, f"{comma(at)} {text} trace={trace(dice)}"))
    return lines(
        rows,
        POOL,
        f"{comma(POOL)} ERROR [worker-2] pool exhausted: 4 of 4 connections in use, waited "
        f"5002 ms trace={trace(dice)}",
    )


def db_log(dice: random.Random) -> str:
    rows: Rows = []

    def who() -> str:
        return f"[{dice.randrange(20000, 29999)}]"

    for at in ticks(dice, BEGIN, END, 14):
        took = f"{dice.randrange(1010, 2600)}.{dice.randrange(100, 999)}"
        text = f"{who()} LOG:  duration: {took} ms  statement: SELECT"
        rows.append((at, f"{postgres(at)} {text} * FROM stock_levels WHERE depot = ${dice.randrange(1, 9)}"))
    for at in ticks(dice, BEGIN, END, 300):
        rows.append(
            (at, f"{postgres(at)} {who()} LOG:  checkpoint complete: wrote {dice.randrange(90, 900)} buffers")
        )
    for at in ticks(dice, POOL + timedelta(seconds=8), END, 1.6):
        host = f"10.20.4.{dice.randrange(11, 14)}"
        text = f"{who()} LOG:  connection authorized: user=orders_worker database=orders host={host}"
        rows.append((at, f"{postgres(at)} {text}"))
    for at in ticks(dice, SLOTS, END, 1.3):
        rows.append((at, f'{postgres(at)} {who()} FATAL:  too many connections for role "orders_worker"'))
    for at in ticks(dice, SLOTS + timedelta(seconds=6), END, 2.2):
        text = "FATAL:  remaining connection slots are reserved, connection refused for user orders_api"
        rows.append((at, f"{postgres(at)} {who()} {text}"))
    return lines(rows, SLOTS, f'{postgres(SLOTS)} [24117] FATAL:  too many connections for role "orders_worker"')


def gateway_access_log(dice: random.Random) -> str:
    rows: Rows = []
    for at in ticks(dice, BEGIN, END, 1.25):
        address = f"10.20.{dice.randrange(1, 4)}.{dice.randrange(2, 250)}"
        verb = dice.choice(("GET", "GET", "GET", "POST"))
        bad = at > BAD_GATEWAY and dice.random() < 0.72
        status, size = (502, 157) if bad else (200, dice.randrange(300, 9000))
        took = f"5.{dice.randrange(0, 40):03d}" if bad else f"0.{dice.randrange(9, 300):03d}"
        agent = dice.choice(("shop-web/5.2", "shop-ios/8.1", "probe/1.0"))
        text = f'{address} - - [{nginx(at)}] "{verb} {path(dice)} HTTP/1.1" {status} {size} "-" "{agent}" {took}'
        rows.append((at, text))
    first = (
        f'10.20.2.77 - - [{nginx(BAD_GATEWAY)}] "GET /v1/orders/48213 HTTP/1.1" 502 157 "-" "shop-web/5.2" 5.004'
    )
    return lines(rows, BAD_GATEWAY, first)


def gateway_error_log(dice: random.Random) -> str:
    rows: Rows = []
    for at in ticks(dice, BEGIN, END, 520):
        text = f"[warn] 31#31: *{dice.randrange(1000, 9999)} a client request body is buffered to a temporary file"
        rows.append((at, f"{nginx_error(at)} {text}"))
    for at in ticks(dice, BAD_GATEWAY, END, 2.4):
        text = (
            f"[error] 31#31: *{dice.randrange(10000, 99999)} upstream timed out (110: Connection timed out) while "
        )
        text += f'reading response header from upstream, upstream: "http://10.20.3.{dice.randrange(11, 14)}:8080"'
        rows.append((at, f"{nginx_error(at)} {text}"))
    return lines(rows)


def cache_log(dice: random.Random) -> str:
    rows: Rows = []
    for at in ticks(dice, BEGIN, END, 2.1):
        evicted = dice.randrange(90, 900)
        text = f"ERROR cache[{dice.randrange(1, 3)}] failed to keep the hot set: evicted {evicted} keys"
        rows.append((at, f"{comma(at)} {text}, memory {dice.randrange(88, 97)} %"))
    for at in ticks(dice, BEGIN, END, 30):
        rows.append((at, f"{comma(at)} INFO  cache[1] hit ratio 0.{dice.randrange(81, 93)} over 30 s"))
    return lines(rows)


def system_log(dice: random.Random) -> str:
    rows: Rows = []
    for at in ticks(dice, BEGIN, END, 19):
        host, number = dice.choice(("stg-gw-1", "stg-db-1", "stg-wk-2")), dice.randrange(800, 9000)
        rows.append((at, f"{syslog(at)} {host} CRON[{number}]: (root) CMD (run-parts /etc/cron.minutely)"))
    for minute in (1, 31, 61):
        at = BEGIN + timedelta(minutes=minute, seconds=4)
        text = "stg-gw-1 certd[611]: ERROR renewal failed for staging.shop.example: certificate expires in 6 days"
        rows.append((at, f"{syslog(at)} {text}"))
        more = at + timedelta(seconds=2)
        rows.append((more, f"{syslog(more)} stg-gw-1 certd[611]: ERROR renewal failed: next attempt in 30 min"))
    return lines(rows)


def deploy_log(dice: random.Random) -> str:
    def at(hour: int, minute: int, second: int) -> datetime:
        return DAY + timedelta(hours=hour, minutes=minute, seconds=second, milliseconds=dice.randrange(1000))

    steps = [
        (at(13, 18, 2), "INFO  deploy rollout r41 started: gateway image 1.18.2 -> 1.18.3, by release-bot"),
        (at(13, 18, 40), "INFO  deploy rollout r41: gateway-1 restarted, healthy"),
        (at(13, 19, 21), "INFO  deploy rollout r41 finished: 2 of 2 instances healthy"),
        (at(13, 44, 0), "INFO  deploy scheduled job: prune images older than 30 days, 11 removed"),
        (
            ROLLOUT,
            "INFO  deploy rollout r42 started: worker settings v41 -> v42 (settings.v42.yaml), by release-bot",
        ),
        (at(14, 2, 12), "INFO  deploy rollout r42: worker-1 reloaded settings v42"),
        (at(14, 2, 14), "INFO  deploy rollout r42: worker-2 reloaded settings v42"),
        (at(14, 2, 16), "INFO  deploy rollout r42: worker-3 reloaded settings v42"),
        (at(14, 2, 21), "INFO  deploy rollout r42 finished: 3 of 3 instances healthy, liveness only"),
        (at(14, 15, 9), "WARN  deploy rollout r43 (api image 7.4.0) held: api readiness is red"),
    ]
    return lines([(when, f"{iso(when)} {text}") for when, text in steps])


SETTINGS = """\
# worker settings, staging. Reviewed by the platform team.
version: v{version}
service: orders-worker

database:
  host: stg-db-1
  role: orders_worker
  pool:
    min_connections: {smallest}
    max_connections: {largest}
    checkout_wait_ms: 5000

queue:
  name: orders
  concurrency: 32
  visibility_s: 120

retry:
  limit: 60
  backoff_ms: 0
  open_outside_pool: true

log:
  level: {level}
"""


def lines(rows: Rows, first: datetime | None = None, opening: str = "") -> str:
    """Put rows in the order of time; an opening row is the first of its kind, at its exact instant."""
    if first is not None:
        rows = [*rows, (first, opening)]
    return "".join(f"{text}\n" for _, text in sorted(rows, key=lambda row: row[0]))


def incident() -> dict[str, str]:
    """Give the text of each file by its name."""
    logs: dict[str, Callable[[random.Random], str]] = {
        "api.log": api_log,
        "cache.log": cache_log,
        "db.log": db_log,
        "deploy.log": deploy_log,
        "gateway-access.log": gateway_access_log,
        "gateway-error.log": gateway_error_log,
        "system.log": system_log,
        "worker.log": worker_log,
    }
    files = {name: log(random.Random(f"{SEED} {name}")) for name, log in logs.items()}
    files["settings.v41.yaml"] = SETTINGS.format(version=41, smallest=4, largest=40, level="info")
    files["settings.v42.yaml"] = SETTINGS.format(version=42, smallest=4, largest=4, level="info")
    return files


def write_files(folder: Path) -> None:
    """Write the incident's files into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in incident().items():
        (folder / name).write_bytes(text.encode())


if __name__ == "__main__":
    write_files(STAGING)

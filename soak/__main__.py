"""The soak: servers that are killed, cut off, starved and drained while clients play.

    make soak ARGS="--kills 1000 --database postgresql --seed 7"

A history of all that clients asked and heard is held against the database: every acknowledged
action must stand there once, with the dice that its seed dictates.
"""

import argparse
import asyncio
import secrets
import signal
import sys
import time
from collections.abc import Iterator

from soak.nursery import ROOT
from soak.ordeal import Kind, Report, soak


def told(report: Report, seconds: float) -> Iterator[str]:
    """A report, a line each."""
    yield f"== {report.kind}, seed {report.seed}, {seconds:.0f} s"
    for what, count in sorted(report.done.items()):
        yield f"{count:>8}  {what}"
    for what, why in report.left_out.items():
        yield f"{'-':>8}  {what}: left out, {why}"
    wrong = sum(count for off, count in report.clocks.items() if off)
    yield f"{report.clocks.total():>8}  starts, {wrong} of them with a wrong clock"
    yield f"{report.slowest_start_s:>8.2f}  s from birth to first answer, the slowest start"
    for what, count in sorted(report.verdict.counts.items()):
        yield f"{count:>8}  {what}"
    yield f"{report.asked['replayed']:>8}  answers repeated by key"
    yield f"{len(report.verdict.faults):>8}  faults found"
    yield from report.verdict.faults[:20]


def run(kind: Kind, kills: int, seed: int) -> Report:
    """A soak on the disk of the checkout: a temporary directory may lie in memory."""
    place = ROOT / "build"
    place.mkdir(exist_ok=True)
    return asyncio.run(soak(kind, kills, seed, place))


def main() -> None:
    """Soaks, and tells what came of it."""
    parser = argparse.ArgumentParser(prog="soak", description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=100, help="for each database")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**9))
    parser.add_argument("--database", choices=("sqlite", "postgresql", "both"), default="both")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # and tidied up
    kinds: tuple[Kind, ...] = ("sqlite", "postgresql")
    failed = False
    print(f"seed {given.seed}", flush=True)
    for kind in kinds:
        if given.database not in (kind, "both"):
            continue
        began = time.monotonic()
        report = run(kind, given.kills, given.seed)
        print("\n".join(told(report, time.monotonic() - began)), flush=True)
        failed |= bool(report.verdict.faults)
    sys.exit(f"FAILED: seed {given.seed}" if failed else 0)


if __name__ == "__main__":
    main()

"""`make mutation`: tries every change, prints what came out and writes it beside what was tried."""

import argparse
import math
import multiprocessing
import os
import sys
import time
from collections.abc import Sequence

import tests.mutation
from tests.mutation.changes import (
    FOLDER,
    all_modules,
    forget_survivors,
    keep,
    pending,
    prepare,
    report,
)
from tests.mutation.trial import ENVIRONMENT, try_changes


def mutate(modules: Sequence[str], workers: int, limit: float) -> None:
    """Tries the changes that were not tried yet.

    Args:
        modules: what to change.
        workers: how many processes try changes.
        limit: seconds; tests of other modules that take longer are left out, and what passes is not
            kept, but stays to be tried.

    Raises:
        SystemExit: the tests of a module fail without any change.
    """
    for module in modules:
        prepare(module)
    work = {change[:2]: change for module in modules for change in pending(module)}
    os.environ |= ENVIRONMENT
    context = multiprocessing.get_context("spawn")
    tasks, results = context.Queue(), context.Queue()
    for task in [*work.values(), *[None] * workers]:
        tasks.put(task)
    crew = [
        context.Process(target=try_changes, args=(tasks, results, limit), daemon=True)
        for _ in range(workers)
    ]
    for worker in crew:
        worker.start()
    start = time.monotonic()
    for done in range(1, len(work) + 1):
        module, job, noticed_by = results.get()
        if not job:
            for worker in crew:
                worker.terminate()
            raise SystemExit(noticed_by)
        if noticed_by or limit == math.inf:
            keep(work[module, job], noticed_by)
        if done % 50 == 0:
            each = (time.monotonic() - start) / done
            left = each * (len(work) - done) / 60
            print(f"{done} of {len(work)}: {each:.1f} s for each, {left:.0f} min left", flush=True)


def main() -> int:
    """Runs the command."""
    parser = argparse.ArgumentParser(prog="make mutation", description=tests.mutation.__doc__)
    parser.add_argument("modules", nargs="*", default=all_modules(), metavar="MODULE")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), metavar="N")
    parser.add_argument("--survivors", action="store_true", help="try those again that survived")
    parser.add_argument("--report", action="store_true", help="try nothing, tell what came out")
    parser.add_argument(
        "--limit",
        type=float,
        default=math.inf,
        metavar="SECONDS",
        help="leave out tests of other modules that take longer; what passes stays to be tried",
    )
    args = parser.parse_args()
    if unknown := set(args.modules) - set(all_modules()):
        parser.error(f"unknown {', '.join(unknown)}: choose from {', '.join(all_modules())}")
    if not args.report:
        if args.survivors:
            for module in args.modules:
                forget_survivors(module)
        mutate(args.modules, args.workers, args.limit)
    text = "\n".join(report(args.modules))
    (FOLDER / "report.txt").write_text(text + "\n", encoding="utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())

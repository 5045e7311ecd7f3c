"""`make mutation`: tries every change, prints what came out and writes it beside what was tried."""

import argparse
import math
import multiprocessing
import os
import time

import tests.mutation
from tests.mutation.changes import FOLDER, Change, Tried, all_modules, changes_of, report
from tests.mutation.trial import ENVIRONMENT, try_changes


def mutate(work: list[Change], workers: int, limit: float) -> None:
    """Tries changes; what passes while slower tests are left out stays to be tried.

    Raises:
        SystemExit: the tests of a module fail without any change.
    """
    os.environ |= ENVIRONMENT
    context = multiprocessing.get_context("spawn")
    tasks, results = context.Queue(), context.Queue()
    for task in [*work, *[None] * workers]:
        tasks.put(task)
    arguments = tasks, results, limit
    crew = [
        context.Process(target=try_changes, args=arguments, daemon=True) for _ in range(workers)
    ]
    for worker in crew:
        worker.start()
    start = time.monotonic()
    tried = {change.module: Tried(change.module) for change in work}
    for done in range(1, len(work) + 1):
        change, noticed_by = results.get()
        if change is None:
            for worker in crew:
                worker.terminate()
            raise SystemExit(noticed_by)
        if noticed_by or limit == math.inf:
            tried[change.module].keep(change, noticed_by)
        if done % 50 == 0:
            each = (time.monotonic() - start) / done
            left = each * (len(work) - done) / 60
            print(f"{done} of {len(work)}: {each:.1f} s for each, {left:.0f} min left", flush=True)


def main() -> None:
    """Runs the command."""
    parser = argparse.ArgumentParser(prog="make mutation", description=tests.mutation.__doc__)
    add = parser.add_argument
    add("modules", nargs="*", default=all_modules(), metavar="MODULE")
    add("--workers", type=int, default=os.cpu_count(), metavar="N")
    add("--sample", type=float, default=1.0, metavar="SHARE", help="try a share, always the same")
    add("--survivors", action="store_true", help="try those again that survived")
    add("--report", action="store_true", help="try nothing, tell what came out")
    add(
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
        work = []
        for module in args.modules:
            tried = Tried(module)
            if args.survivors:
                tried.forget_survivors()
            changes = changes_of(module, args.sample)
            work += [change for change in changes if change.name not in tried.noticed_by]
        mutate(work, args.workers, args.limit)
    text = "\n".join(report(args.modules))
    (FOLDER / "report.txt").write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()

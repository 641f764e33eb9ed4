"""Mutation testing campaign: applies small faults to the code, one at a time, and checks whether the tests fail.

    python tests/mutants/campaign.py                      all of them; 1 if too many live
    python tests/mutants/campaign.py --some 20 --seed 5   20 at random
    python tests/mutants/campaign.py --room spark         those of one room
    python tests/mutants/campaign.py --only codec-3       those whose id begins so
    python tests/mutants/campaign.py --resume             go on after a run that was stopped, if no file changed since
    python tests/mutants/campaign.py --no-killers         do not try first what killed a fault the last time
    python tests/mutants/campaign.py --check              only whether all apply to the sources
    python tests/mutants/campaign.py --only new-          the second list by itself
    python tests/mutants/campaign.py --draw new --seed 5  draw new_drawn.toml, which must not exist yet; or --draw first

A fault that does not apply or compile ends the run; so do tests that fail without a fault.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed

from building import BUILD, ROOT, BuildError, build_copy, check, switch_numbers
from drawing import draw
from faults import DRAWN, NEW_DRAWN, Fault, ListError, all_faults, write_list
from kept import Kept, read_killers, write_killers
from rooms import room_of
from running import BaselineError, Runner, Verdict, end_all
from table import problems, table, write_report

HEAD = """# Drawn by `campaign.py --draw {name} --seed {seed}`: comparisons, +-1, and/or, early returns, defaults.
# Reasons of faults that live (`lives`, `equivalent`) were added later; places are updated by hand when sources change.
seed = {seed}
"""


def main() -> int:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    given = _arguments()
    try:
        if given.draw:
            return draw_list(given.draw, given.seed)
        faults = all_faults()
        if wrong := check(faults):
            raise ListError("\n".join([*wrong, f"{len(wrong)} of {len(faults)} faults do not apply"]))
        if given.check:
            print(f"{len(faults)} faults apply")
            return 0
        return campaign(faults, list(chosen(faults, given)), given)
    except (ListError, BuildError, BaselineError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def draw_list(name: str, seed: int) -> int:
    """Draw a list. Raises ListError if it exists: its reasons would be lost."""
    path = {"first": DRAWN, "new": NEW_DRAWN}[name]
    if path.exists():
        raise ListError(f"{path.name} exists, with the reasons of faults that live: remove it to draw it again")
    write_list(path, HEAD.format(name=name, seed=seed), draw(ROOT, seed, new=name == "new"))
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--some", type=int, metavar="N", help="try this many random faults")
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000), help="seed of --some or --draw")
    parser.add_argument("--room", action="append", default=[])
    parser.add_argument("--only", action="append", default=[], metavar="ID")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--narrow", action="store_true", help="without the wider tests: a first look")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--no-killers", action="store_true", help="do not begin with the test of killers.json")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--draw", choices=("first", "new"))
    return parser.parse_args()


def chosen(faults: list[Fault], given: argparse.Namespace) -> Iterator[Fault]:
    """Return the faults that the arguments select. Raises ListError if they select none."""
    those = [f for f in faults if not given.room or room_of(f.file).name in given.room]
    those = [f for f in those if not given.only or f.id.startswith(tuple(given.only))]
    if not those:
        raise ListError(f"no fault is of the rooms {given.room} and called {given.only}")
    if given.some is not None:
        print(f"{given.some} of {len(those)} faults, by --seed {given.seed}")
        those = random.Random(given.seed).sample(those, min(given.some, len(those)))
    yield from those


def campaign(faults: list[Fault], tried: list[Fault], given: argparse.Namespace) -> int:
    print(f"compiling with {len(switch_numbers(faults))} switches", flush=True)
    build_copy(faults)
    # Spark's faults take longest, so they are tried first, and no worker is left with one at the end.
    tried = sorted(tried, key=lambda fault: room_of(fault.file).name not in ("spark", "data source"))
    killers = {} if given.no_killers else read_killers(faults)
    runner = Runner(switch_numbers(faults), narrow=given.narrow, killers=killers)
    kept = Kept(tried, resume=given.resume)
    verdicts = list(kept.before)
    for verdict in _judged(runner, [fault for fault in tried if fault not in kept], given.workers, kept):
        verdicts.append(verdict)
        write_killers([verdict], faults)  # a campaign that is stopped has found some too
    write_report(BUILD / "report.json", verdicts)
    print(f"\n{table(verdicts)}")
    wrong = problems(verdicts, [] if given.narrow else faults)
    print(*wrong, sep="\n", file=sys.stderr)
    return 1 if wrong else 0


def _judged(runner: Runner, tried: list[Fault], workers: int, kept: Kept) -> Iterator[Verdict]:
    """Each fault's verdict, as it comes."""
    with ThreadPoolExecutor(workers) as pool:
        asked = [pool.submit(runner.judge, fault) for fault in tried]
        try:
            for done, future in enumerate(as_completed(asked), 1):
                verdict = future.result()
                print(
                    f"{done}/{len(tried)} {verdict.fault.id}: {verdict.killer or 'ALIVE'} ({verdict.seconds:.0f} s)",
                    flush=True,
                )
                kept.add(verdict)
                yield verdict
        except BaseException:  # including Ctrl-C
            pool.shutdown(wait=False, cancel_futures=True)
            end_all()
            raise


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""Chooses cases by a seed, plays them, and prints what each shows."""
from __future__ import annotations

import argparse
import concurrent.futures
import random
import shutil
import subprocess
import sys
import traceback
from pathlib import Path

import kinds
import media
import play
import senders
from play import Case

LATE = 0.25
"""Seconds by which a sender may be late where what it sent is judged by time."""
LENGTH = 50
"""Seconds of the master."""


def chosen(options: argparse.Namespace) -> list[Case]:
    """The cases, each kind about as often as any other."""
    cases = play.all_cases()
    if options.short and not options.only:
        return [Case(kind, *kind.short.split("/")) for kind in kinds.ALL if kind.short]
    for words in options.only:
        parts = set(words.split("/"))
        known = {*kinds.BY_NAME, *senders.ALL, *play.USES}
        if unknown := parts - known:
            raise SystemExit(f"no {', '.join(sorted(unknown))}; there are {', '.join(sorted(known))}")
    if options.only:
        cases = [case for case in cases if any(set(words.split("/")) <= set(case.name.split("/"))
                                               for words in options.only)]
    if options.all:
        return cases
    rng = random.Random(options.seed)
    by_kind: dict[str, list[Case]] = {}
    for case in rng.sample(cases, len(cases)):
        by_kind.setdefault(case.kind.name, []).append(case)
    rounds = [[group[number] for group in by_kind.values() if number < len(group)]
              for number in range(max(map(len, by_kind.values()), default=0))]
    return [case for group in rounds for case in group][:options.count]


def repeat(case: Case, options: argparse.Namespace) -> str:
    return f"scripts/torture --seed {options.seed} --only {case.name}{' --short' * options.short}"


def memory(result: dict) -> str:
    """What relay took, and how much more it had after the disturbance than before it."""
    kept = "" if result["kept"] is None else f", {result['kept']:+.0f} afterwards"
    return f"at most {result['memory']:.0f} MiB{kept}"


def run(case: Case, options: argparse.Namespace, master: Path, backup: Path) -> dict:
    work = options.work / case.name.replace("/", "-")
    try:
        return play.play(case, options.seed, options.relay, master, backup, work, options.short)
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, IndexError, StopIteration) as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return {"told": "", "faults": [f"cannot be played: {error!r} ({Path(last.filename).name}:{last.lineno})"],
                "late": 0.0, "memory": 0.0, "kept": None, "words": ""}
    finally:
        if not options.keep:
            shutil.rmtree(work, ignore_errors=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/torture")
    parser.add_argument("--relay", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=len(kinds.ALL))
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--jobs", type=int, default=0)
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    options.jobs = options.jobs or (4 if options.short else 1)
    return options


def main() -> int:
    options = parse()
    cases = chosen(options)
    options.work.mkdir(parents=True, exist_ok=True)
    master, backup = options.work / "master.mkv", options.work / "backup.mp4"
    media.make_master(master, LENGTH)
    # Nothing in it looks like a number, and it is silent.
    subprocess.run([*media.FFMPEG, "-f", "lavfi", "-i", f"color=gray:s={media.WIDTH}x{media.HEIGHT}:r={media.RATE}:d=4",
                    "-f", "lavfi", "-i", "anullsrc=r=48000:d=4", "-c:v", "libx264", "-preset", "ultrafast", "-c:a",
                    "aac", "-shortest", backup], check=True)
    print(f"{len(cases)} cases, seed {options.seed}", file=sys.stderr, flush=True)
    broken = unclear = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        waiting = {pool.submit(run, case, options, master, backup): case for case in cases}
        try:
            for future in concurrent.futures.as_completed(waiting):
                case, result = waiting[future], future.result()
                is_late = result["late"] > LATE
                outcome = "BROKEN" if result["faults"] else "holds"
                if result["faults"] and is_late:
                    # It shows nothing of relay: the stream was not what it was to be.
                    outcome, unclear = "not shown: the sender was late", unclear + 1
                print(f"{case.name:36} {outcome}: {result['told']} ({memory(result)})", flush=True)
                for fault in result["faults"]:
                    print(f"    {fault}")
                if result["faults"]:
                    broken += not is_late
                    print(f"    {repeat(case, options)}", flush=True)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    print(f"{len(cases)} cases: {len(cases) - broken - unclear} hold, {broken} are broken, {unclear} are not shown",
          flush=True)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())

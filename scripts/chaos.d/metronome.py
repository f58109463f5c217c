# SPDX-License-Identifier: Apache-2.0
"""Notes when this machine was busy with something else: a process that only wants to wake up every 10 ms, and what the
kernel says of processes that waited for a core."""
from __future__ import annotations

import sys
import time
from pathlib import Path

PERIOD = 0.010
WORTH_NOTING = 0.004
PRESSURE = Path("/proc/pressure/cpu")


def waited() -> float:
    """Seconds since the start of the machine in which somebody waited for a core."""
    try:
        return int(PRESSURE.read_text().split("total=")[1].split()[0]) / 1e6
    except (OSError, IndexError, ValueError):
        return 0.0


def main() -> None:
    with Path(sys.argv[1]).open("w", buffering=1) as events:
        due, before = time.monotonic() + PERIOD, waited()
        while True:
            time.sleep(max(0.0, due - time.monotonic()))
            late, now = time.monotonic() - due, waited()
            due += late + PERIOD
            if late > WORTH_NOTING or now - before > WORTH_NOTING:
                events.write(f"busy {time.time():.6f} {max(late, now - before):.6f}\n")
            before = now


if __name__ == "__main__":
    main()

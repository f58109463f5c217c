# SPDX-License-Identifier: Apache-2.0
"""Notes when this machine itself was late: a process that only wants to wake up every 5 ms."""
from __future__ import annotations

import sys
import time
from pathlib import Path

PERIOD = 0.005
WORTH_NOTING = 0.004


def main() -> None:
    with Path(sys.argv[1]).open("w", buffering=1) as events:
        due = time.monotonic() + PERIOD
        while True:
            time.sleep(max(0.0, due - time.monotonic()))
            now = time.monotonic()
            if now - due > WORTH_NOTING:
                events.write(f"late {time.time():.6f} {now - due:.6f}\n")
            due = now + PERIOD


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""The file of results: each script writes its own part, and leaves those of others alone."""
from __future__ import annotations

import re
from pathlib import Path

MARK = "<!-- Written by scripts/{name}; do not edit. -->"
ANY_MARK = re.compile(r"^<!-- Written by scripts/([a-z]+); do not edit\. -->$", re.MULTILINE)
ORDER = ["chaos", "network"]


def parts(text: str) -> dict[str, str]:
    """The parts of a file, by the script that wrote them. What stands before the first mark is of scripts/chaos, which
    once wrote the whole file.
    """
    pieces = ANY_MARK.split(text)
    found = {name: body.strip() for name, body in zip(pieces[1::2], pieces[2::2])}
    if pieces[0].strip():
        found.setdefault("chaos", pieces[0].strip())
    return found


def write(path: Path, name: str, text: str) -> None:
    """Puts the part of a script into the file, which may not be there yet."""
    found = parts(path.read_text()) if path.exists() else {}
    found[name] = text.strip()
    order = sorted(found, key=lambda part: (ORDER.index(part) if part in ORDER else len(ORDER), part))
    path.write_text("\n\n".join(f"{MARK.format(name=part)}\n\n{found[part]}" for part in order) + "\n")

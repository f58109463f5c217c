# SPDX-License-Identifier: Apache-2.0
"""What the tools are fed with: a program of which no two frames are alike, and a certificate."""
from __future__ import annotations

import subprocess
from pathlib import Path

import contestants

QUICK = ["-preset", "ultrafast", "-crf", "30"]
"""For a clip that is decoded and encoded."""
AS_SENT = ["-preset", "superfast", "-b:v", f"{contestants.KILOBITS}k", "-maxrate", f"{contestants.KILOBITS}k",
           "-bufsize", f"{2 * contestants.KILOBITS}k", "-bf", "2"]
"""For a clip that is passed through: the rate and the references of the encoder."""


def make_clip(path: Path, seconds: float, coding: list[str]) -> None:
    """A moving pattern with noise, and a tone."""
    subprocess.run(
        ["ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi", "-i",
         f"testsrc2=s=640x360:r={contestants.RATE}:d={seconds},noise=alls=10:allf=t", "-f", "lavfi", "-i",
         f"sine=440:r={contestants.SAMPLE_RATE}:d={seconds}", "-c:v", "libx264", *coding, "-g",
         str(contestants.GOP_SECONDS * contestants.RATE), "-pix_fmt", "yuv420p", "-c:a", "aac", path], check=True)


def make_certificate(work: Path, *names: str) -> None:
    """`certificate.pem` and `key.pem` of a server with these names, such as DNS:localhost."""
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
         f"subjectAltName={','.join(names)}", "-keyout", work / "key.pem", "-out", work / "certificate.pem"],
        check=True, capture_output=True)

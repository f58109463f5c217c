# SPDX-License-Identifier: Apache-2.0
"""What ffmpeg decodes of a file."""

import array
import os
import subprocess

COMMAND = ["ffmpeg", "-v", "error", "-nostdin", "-y"]
# Where relay's test signal has its number in frames of 320x180: two rows of 20 blocks at the bottom.
CODE = "format=gray,crop=320:32:0:148,scale=20:2:flags=area"


def ffmpeg(*arguments):
    """What it writes to its standard output."""
    return subprocess.run([*COMMAND, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True).stdout


def hashes(text):
    return [line.rsplit(",", 1)[1].strip() for line in text.decode().splitlines() if line and line[0] != "#"]


def hashes_of(path):
    """A hash of each frame as it is decoded."""
    return hashes(ffmpeg("-i", path, "-map", "0:v:0", "-vsync", "passthrough", "-f", "framemd5", "-"))


def code(value):
    """The bits of a number in the test signal, with its check bits."""
    crc = 255
    for byte in value.to_bytes(4, "big"):
        crc ^= byte
        for _ in range(8):
            crc = (crc << 1 ^ 7) & 255 if crc & 128 else crc << 1
    return f"{value:032b}{crc:08b}"


def number(cells):
    """The number in a frame of the test signal; -1 where its check bits do not fit."""
    bits = "".join("1" if cell > 125 else "0" for cell in cells)
    found = int(bits[:32], 2)
    return found if code(found) == bits else -1


def frames_of(path, home):
    """Each frame of relay's test signal: its number, and a hash of it as it is decoded."""
    codes = f"{home}/codes"
    graph = f"[0:v:0]split[all][some];[some]{CODE}[code]"
    text = ffmpeg(
        "-i", path, "-filter_complex", graph, "-map", "[all]", "-vsync", "passthrough", "-f", "framemd5", "-",
        "-map", "[code]", "-vsync", "passthrough", "-f", "rawvideo", codes,
    )
    with open(codes, "rb") as file:
        data = file.read()
    os.remove(codes)
    numbers = [number(data[at : at + 40]) for at in range(0, len(data), 40)]
    return list(zip(numbers, hashes(text), strict=True))


def first_time(path, stream):
    """When the first frame or piece of audio that is decoded comes, in seconds."""
    text = subprocess.run(
        ["ffprobe", "-v", "error", "-select_streams", stream, "-read_intervals", "%+#4", "-of", "csv=p=0"]
        + ["-show_entries", "frame=best_effort_timestamp_time", path],
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    ).stdout
    return float(text.split()[0].strip(","))


def frame_times(path):
    """When each frame is shown, in seconds."""
    text = subprocess.run(
        ["ffprobe", "-v", "error", "-select_streams", "v:0", "-show_entries", "packet=pts_time", "-of", "csv=p=0", path],
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    ).stdout
    return sorted(float(line.strip(",")) for line in text.split())


def audio_of(path):
    """The samples of the two channels, 1.0 for full scale."""
    data = array.array("f")
    data.frombytes(ffmpeg("-i", path, "-map", "0:a:0", "-ac", "2", "-ar", "48000", "-f", "f32le", "-"))
    return data[::2], data[1::2]

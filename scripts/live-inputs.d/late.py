# SPDX-License-Identifier: Apache-2.0
"""late.py FILE PORT SECONDS: sends a transport stream to a UDP port of 127.0.0.1 by its PCR, its audio so much later."""
import socket
import sys
import time

path, port, delay = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
with open(path, "rb") as file:
    data = file.read()
now, first, audio, packets = 0.0, None, set(), []
for start in range(0, len(data) - 187, 188):
    packet = data[start:start + 188]
    pid = (packet[1] & 31) << 8 | packet[2]
    body = 4 + (1 + packet[4] if packet[3] & 0x20 else 0)
    # A PES of an audio stream begins (ISO/IEC 13818-1, 2.4.3.7).
    if packet[1] & 0x40 and packet[body:body + 3] == b"\x00\x00\x01" and 0xC0 <= packet[body + 3] < 0xE0:
        audio.add(pid)
    if packet[3] & 0x20 and packet[4] >= 7 and packet[5] & 0x10:
        clock = (packet[6] << 25 | packet[7] << 17 | packet[8] << 9 | packet[9] << 1 | packet[10] >> 7) / 90000
        first = clock if first is None else first
        now = clock - first
    packets.append((now + (delay if pid in audio else 0), packet))
packets.sort(key=lambda entry: entry[0])

sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
begin, batch = time.monotonic(), []
for index, (due, packet) in enumerate(packets):
    batch.append(packet)
    if len(batch) < 7 and index + 1 < len(packets) and packets[index + 1][0] == due:
        continue
    time.sleep(max(0, begin + due - time.monotonic()))
    try:
        sender.sendto(b"".join(batch), ("127.0.0.1", port))
    except ConnectionRefusedError:
        pass
    batch = []

// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Sends a transport stream file by UDP as it is, packet by packet, at the pace of its own clock references. Its audio
/// can follow later than it stands in the file: a multiplex as broadcasters make them, with the same time stamps.
enum TransportStreamSender {
    /// What Python runs: the file, the port, and by how many seconds audio (stream ids of 13818-1, 2.4.3.7: 0xC0 to 0xDF)
    /// is moved back.
    private static let script = """
        import socket, sys, time
        path, port, delay = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
        data, now, first, audio, packets = open(path, "rb").read(), 0.0, None, set(), []
        for start in range(0, len(data) - 187, 188):
            p = data[start:start + 188]
            pid = (p[1] & 31) << 8 | p[2]
            body = 4 + (1 + p[4] if p[3] & 0x20 else 0)
            if p[1] & 0x40 and p[body:body + 3] == b"\\x00\\x00\\x01" and 0xC0 <= p[body + 3] < 0xE0:
                audio.add(pid)
            if p[3] & 0x20 and p[4] >= 7 and p[5] & 0x10:
                clock = (p[6] << 25 | p[7] << 17 | p[8] << 9 | p[9] << 1 | p[10] >> 7) / 90000
                first = clock if first is None else first
                now = clock - first
            packets.append((now + (delay if pid in audio else 0), p))
        packets.sort(key=lambda packet: packet[0])
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        begin, batch = time.monotonic(), []
        for index, (due, p) in enumerate(packets):
            batch.append(p)
            if len(batch) < 7 and index + 1 < len(packets) and packets[index + 1][0] == due:
                continue
            time.sleep(max(0, begin + due - time.monotonic()))
            try:
                sender.sendto(b"".join(batch), ("127.0.0.1", port))
            except ConnectionRefusedError:
                pass
            batch = []
        """

    /// Begins to send `path` to `port` of this machine.
    static func start(_ path: String, to port: Int, audioLater delay: Double) throws -> ChildProcess {
        try ChildProcess("python3", ["-c", script, path, "\(port)", "\(delay)"])
    }
}

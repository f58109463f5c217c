// SPDX-License-Identifier: Apache-2.0

extension OutputKind {
    /// All kinds of live outputs, in the order in which help and messages list them. A new kind must be added here.
    package static let all: [OutputKind] = [
        .rtmp,
        .rtmpListen,
        .srt,
        .udp,
        .hls,
    ]
}

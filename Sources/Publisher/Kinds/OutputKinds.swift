// SPDX-License-Identifier: Apache-2.0

extension OutputKind {
    /// All kinds of live output, in the order in which help and messages list them. To add a kind, add a line here.
    package static let all: [OutputKind] = [
        .rtmp,
        .rtmpListen,
        .srt,
        .udp,
        .hls,
    ]
}

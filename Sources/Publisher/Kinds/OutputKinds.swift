// SPDX-License-Identifier: Apache-2.0

extension OutputKind {
    /// Every kind of live output, in the order in which help and messages name them. A new one is a line here.
    package static let all: [OutputKind] = [
        .rtmp,
        .rtmpListen,
        .srt,
        .udp,
        .hls,
    ]
}

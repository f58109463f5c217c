// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Synchronization
import TestSupport

/// An HTTP server on the loopback interface that serves a live playlist with the segments that a test has published.
final class PlaylistServer: Sendable {
    /// The content of the playlist.
    struct Playlist {
        var target: Int
        /// The number of the first segment in the list.
        var first = 0
        /// The number of listed segments.
        var count: Int
        var hasEnded = false
        /// The media sequence number of the first segment in the list; nil means that it is the segment's number.
        var sequence: Int?
        /// The names of the initialization sections, each by the number of the first segment that needs it.
        var sections: [Int: String] = [:]

        /// The name of the initialization section that the list has to name in front of a segment, if any.
        func section(before number: Int) -> String? {
            let start = number == first ? sections.keys.filter { $0 <= number }.max() : number
            return start.flatMap { sections[$0] }
        }
    }

    private let server: LoopbackServer
    private let content: PlaylistContent

    /// A server of these segments, one second each; `playlist` selects those that are listed. Segments of fragmented
    /// MP4 need `sections`, their initialization sections.
    init(_ segments: [Data], sections: [String: Data] = [:], _ playlist: Playlist) throws {
        let content = PlaylistContent(segments, sections, playlist)
        self.content = content
        server = try LoopbackServer { peer in
            Thread.detachNewThread {
                content.serve(peer)
                close(peer)
            }
        }
    }

    /// The playlist's address.
    var url: String { "http://127.0.0.1:\(server.port)/live.m3u8" }

    /// Changes the content of the playlist.
    func update(_ change: (inout Playlist) -> Void) { content.state.withLock { change(&$0.playlist) } }

    /// Stops answering requests, or answers them again.
    func fallSilent(_ isSilent: Bool) { content.state.withLock { $0.isSilent = isSilent } }
}

/// What a playlist server answers, and whether it answers at all.
private final class PlaylistContent: Sendable {
    let state: Mutex<(playlist: PlaylistServer.Playlist, isSilent: Bool)>
    private let segments: [Data]
    private let sections: [String: Data]

    init(_ segments: [Data], _ sections: [String: Data], _ playlist: PlaylistServer.Playlist) {
        (self.segments, self.sections) = (segments, sections)
        state = Mutex((playlist, false))
    }

    /// Answers one request.
    func serve(_ peer: Int32) {
        guard let request = LoopbackServer.requestHead(from: peer) else { return }
        var buffer: UInt8 = 0
        while state.withLock({ $0.isSilent }) {
            // A peer that has closed its connection needs no answer.
            if recv(peer, &buffer, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) == 0 { return }
            usleep(10_000)
        }
        let words = request.split(separator: " ")
        let body = words.count > 1 ? self.body(of: String(words[1])) : nil
        let status = body == nil ? "404 Not Found" : "200 OK"
        let head = "HTTP/1.1 \(status)\r\nContent-Length: \(body?.count ?? 0)\r\nConnection: close\r\n\r\n"
        let answer = Array(head.utf8) + (body ?? Data())
        var sent = 0
        while sent < answer.count {
            let count = answer.withUnsafeBytes {
                send(peer, $0.baseAddress?.advanced(by: sent), answer.count - sent, Int32(MSG_NOSIGNAL))
            }
            if count <= 0 { return }
            sent += count
        }
    }

    private func body(of path: String) -> Data? {
        if path == "/live.m3u8" { return Data(text.utf8) }
        if let section = sections[String(path.dropFirst())] { return section }
        guard let number = Int(path.dropFirst().prefix { $0 != "." }), segments.indices.contains(number) else {
            return nil
        }
        return segments[number]
    }

    private var text: String {
        let playlist = state.withLock { $0.playlist }
        let (version, suffix) = playlist.sections.isEmpty ? (3, "ts") : (7, "m4s")
        var lines = ["#EXTM3U", "#EXT-X-VERSION:\(version)", "#EXT-X-TARGETDURATION:\(playlist.target)"]
        lines.append("#EXT-X-MEDIA-SEQUENCE:\(playlist.sequence ?? playlist.first)")
        for number in playlist.first..<playlist.first + playlist.count {
            if let section = playlist.section(before: number) {
                if number != playlist.first { lines.append("#EXT-X-DISCONTINUITY") }
                lines.append("#EXT-X-MAP:URI=\"\(section)\"")
            }
            lines += ["#EXTINF:1.0,", "\(number).\(suffix)"]
        }
        if playlist.hasEnded { lines.append("#EXT-X-ENDLIST") }
        return lines.joined(separator: "\n") + "\n"
    }
}

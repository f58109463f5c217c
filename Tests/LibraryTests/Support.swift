// SPDX-License-Identifier: Apache-2.0

import Archive
import Catalogue
import Library
import MP4
import Media
import RecordingSamples
import Segmenter
import Studio
import Synchronization
import TestSupport
import Testing

/// Bytes that can be read like a file.
struct SampleBytes: ByteSource {
    let bytes: [UInt8]

    func size() -> Int64 { Int64(bytes.count) }
    func read(at offset: Int64, count: Int) -> [UInt8] { Array(bytes.dropFirst(Int(offset)).prefix(count)) }
}

/// The kind of the refusal that `call` throws; nil if it throws nothing.
func refusal(_ call: () throws -> Void) -> Refusal.Kind? {
    do {
        try call()
        return nil
    } catch let refusal as Refusal {
        return refusal.kind
    } catch {
        Issue.record(error)
        return nil
    }
}

/// A media playlist of a range, as a player parses it.
struct ReadPlaylist {
    struct Piece: Equatable {
        var file: String
        var bytes: Range<Int64>
        var micros: Int64
        /// The texts of the marks that stand before the piece in the playlist.
        var marks: [String]
    }

    private(set) var pieces: [Piece] = []
    /// The dates, in milliseconds since 1970, by the index of the piece to which each belongs.
    private(set) var dates: [Int: Int64] = [:]
    /// The indices of the pieces that follow a discontinuity.
    private(set) var breaks: [Int] = []
    private(set) var markIDs: [String] = []
    private(set) var target: Int64 = 0
    private(set) var isGrowing = false
    private(set) var isEnded = false

    init(_ text: String) {
        var piece = Piece(file: "", bytes: 0..<0, micros: 0, marks: [])
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 1)
            let value = parts.count > 1 ? parts[1] : ""
            switch parts[0] {
            case "#EXT-X-TARGETDURATION": target = Int64(value) ?? 0
            case "#EXT-X-PLAYLIST-TYPE": isGrowing = value == "EVENT"
            case "#EXT-X-ENDLIST": isEnded = true
            case "#EXT-X-DISCONTINUITY": breaks.append(pieces.count)
            case "#EXT-X-PROGRAM-DATE-TIME": dates[pieces.count] = UTCTime(extended: String(value))?.milliseconds
            case "#EXTINF": piece.micros = Int64(value.filter(\.isNumber)) ?? 0
            case "#EXT-X-BYTERANGE":
                let numbers = value.split(separator: "@").compactMap { Int64($0) }
                if numbers.count == 2 { piece.bytes = numbers[1]..<numbers[1] + numbers[0] }
            case "#EXT-X-DATERANGE":
                let words = value.split(separator: "\"", omittingEmptySubsequences: false).map(String.init)
                if words.count == 9 { (markIDs, piece.marks) = (markIDs + [words[1]], piece.marks + [words[7]]) }
            default:
                let path = line.split(separator: "/")
                guard !line.hasPrefix("#"), path.count == 3 else { continue }
                piece.file = String(path[1])
                pieces.append(piece)
                piece.marks = []
            }
        }
    }
}

/// A program of 25 frames a second, of which the test determines how much is recorded.
final class SampleShow: Sendable {
    private struct State {
        var newest = 10.0
        var recorded: [ClipStore.Recorded] = []
        var begun = 0
    }
    private let state = Mutex(State())
    /// The number of recordings that were begun only for clips.
    var begun: Int { state.withLock { $0.begun } }

    /// Sets the program to `seconds` on air, of which the first `recorded` seconds are on the disk. With `isSuspended`,
    /// nothing more is written.
    func record(
        _ seconds: Double, run: String = "a1", recorded: Double = 0, isSuspended: Bool = false,
        isForClips: Bool = false
    ) {
        let stretch = RecordedStretch(
            run: run, start: 0, end: .zero + .seconds(recorded), fileStart: 0, fileTime: SampleRecording.start)
        let now = ClipStore.Recorded(
            program: .init(run: run, frames: 0..<Int64(seconds * 25) + 1, rate: FrameRate(25)), stretch: stretch,
            refusal: isSuspended ? ClipStore.nothingRecorded : nil, isForClips: isForClips, isSuspended: isSuspended)
        state.withLock { ($0.newest, $0.recorded) = (seconds, [now]) }
    }

    func stop() { state.withLock { $0.recorded = [] } }

    var source: ClipStore.Source {
        ClipStore.Source(
            newest: { self.state.withLock { $0.newest } },
            recorded: { () throws(Refusal) in self.state.withLock { $0.recorded } },
            begin: { () throws(Refusal) in
                self.state.withLock { $0.begun += 1 }
                self.record(10, isForClips: true)
            },
            end: { self.stop() })
    }
}

/// A run-down, as its reader parses it.
enum ReadYAML: Equatable {
    case text(String)
    case list([ReadYAML])
    case map([String: ReadYAML])

    init(_ text: String) throws { self.init(try ConfigurationNode(parsing: text, path: "show.yaml", words: [])) }

    private init(_ node: ConfigurationNode) {
        switch node.content {
        case .scalar(let text, isPlain: _): self = .text(text)
        case .sequence(let nodes): self = .list(nodes.map { ReadYAML($0) })
        case .mapping(let entries):
            let values = entries.map { ($0.key, ReadYAML($0.node)) }
            self = .map(Dictionary(values) { first, _ in first })
        }
    }

    /// The segments of the run-down.
    var segments: [ReadYAML] { if case .list(let list)? = self["segments"] { list } else { [] } }

    subscript(key: String) -> ReadYAML? { if case .map(let map) = self { map[key] } else { nil } }
}

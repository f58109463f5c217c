// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Catalogue
internal import Foundation
internal import Media
internal import Segmenter

/// The output of `relay recordings list`.
struct RecordingsListing: Encodable {
    /// A recorded file, with its start as text.
    struct Segment: Encodable {
        let segment: CatalogueSegment

        private enum CodingKeys: String, CodingKey {
            case startUTC = "start_utc"
        }

        init(_ segment: CatalogueSegment) { self.segment = segment }

        var start: String { UTCTime(milliseconds: segment.start).extended }

        func encode(to encoder: any Encoder) throws {
            try segment.encode(to: encoder)
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(start, forKey: .startUTC)
        }

        /// The line for this file in the list.
        var line: String {
            let ending = segment.ending?.rawValue ?? "-"
            return "\(start)  \(VerificationReport.clock(segment.duration))  \(Self.right("\(segment.frames)", 8))  "
                + "\(Self.right(ByteSize(bytes: segment.bytes).description, 9))  \(Self.left(ending, 9))  \(segment.name)"
        }

        /// All facts about the recording, one per line.
        var text: String {
            let program = segment.programStart.flatMap { start in
                segment.programEnd.map { "\(start.nanoseconds) to \($0.nanoseconds) ns" }
            }
            let rows: [(String, String?)] = [
                ("file", segment.name), ("channel", segment.channel), ("number", segment.sequence.map(String.init)),
                ("start", start), ("length", VerificationReport.clock(segment.duration)),
                ("frames", "\(segment.frames)"), ("audio", "\(segment.audioSamples) samples"),
                ("size", "\(segment.bytes) bytes"), ("run", segment.run), ("program time", program),
                ("last frame", segment.lastPts.map { "\($0) ns" }), ("ended by", segment.ending?.rawValue),
                ("SHA-256", segment.sha256), ("upload", segment.upload?.rawValue),
            ]
            return rows.map { "\(Self.left($0.0, 14))\($0.1 ?? "not known")\n" }.joined()
        }

        private static func left(_ text: String, _ width: Int) -> String {
            text + String(repeating: " ", count: max(0, width - text.count))
        }

        private static func right(_ text: String, _ width: Int) -> String {
            String(repeating: " ", count: max(0, width - text.count)) + text
        }
    }

    let segments: [Segment]
    let gaps: [CatalogueGap]
    let events: [CatalogueEvent]
    let notes: [String]

    init(_ contents: RecordingArchive.Contents) {
        segments = contents.segments.map(Segment.init)
        gaps = contents.gaps
        events = contents.events
        notes = contents.notes
    }

    /// The list as text for people: files, gaps and events, sorted by channel and time, and a total.
    var text: String {
        var lines = segments.map { ($0.segment.channel, $0.segment.start, 0, $0.line) }
        lines += gaps.map { ($0.channel, $0.start, 1, Self.line($0)) }
        lines += events.map { event in
            (
                event.channel, event.start, 2,
                "\(UTCTime(milliseconds: event.start).extended)  \(event.kind): \(event.text)"
            )
        }
        lines.sort { ($0.0, $0.1, $0.2) < ($1.0, $1.1, $1.2) }
        let length = VerificationReport.clock(CatalogueSegment.length(of: segments.map(\.segment)))
        let sum = "\(segments.count) segments, \(length), \(gaps.count) gaps"
        return (lines.map(\.3) + [sum]).map { $0 + "\n" }.joined()
    }

    private static func line(_ gap: CatalogueGap) -> String {
        let end =
            gap.to.map { " to \(UTCTime(milliseconds: gap.start + ($0 - gap.from).inMilliseconds).extended)" } ?? ""
        let amount = gap.frames.map { RecordingGap.amount(frames: $0, length: gap.to.map { $0 - gap.from }) }
        let frames = amount ?? "an unknown number of frames"
        return "\(UTCTime(milliseconds: gap.start).extended)  gap\(end): \(frames); \(gap.cause)"
    }

    func json() throws -> String { try Self.json(self) }

    /// Returns `value` as JSON with a final line feed.
    static func json(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return PrintedText.json(String(decoding: try encoder.encode(value), as: UTF8.self)) + "\n"
    }
}

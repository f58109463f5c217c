// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Foundation
internal import HLS
internal import MP4
internal import Media

/// A media playlist (RFC 8216) of a range of recordings. Its segments are byte ranges of the unchanged files. Each
/// segment is a series of fragments that usually begins with a keyframe. Uses neither clock nor disk.
struct RangePlaylist {
    /// A file that may overlap the range.
    struct File {
        /// The file's identifier in the API.
        var id: String
        /// When the file's first frame was on air: milliseconds since 1970.
        var start: Int64
        /// The fragments that the file contains so far.
        var fragments: [FragmentMap.Fragment]
        /// Whether the file is still growing.
        var isOpen: Bool

        /// When the media at `time` of the file was on air: milliseconds since 1970.
        func date(of time: Timestamp) -> Int64 { start + time.nanoseconds / 1_000_000 }
    }

    /// A moment that an operator has marked.
    struct Mark {
        /// When the moment was on air, in milliseconds since 1970.
        var date: Int64
        var text: String
    }

    /// A segment of the playlist: consecutive fragments of one file.
    private struct Piece {
        var bytes: Range<Int64>
        var start: Timestamp
        var duration: Duration

        init(_ fragment: FragmentMap.Fragment) {
            (bytes, start, duration) = (fragment.bytes, fragment.start, .nanoseconds(fragment.duration))
        }

        /// Returns the piece with `fragment` appended. `hasFrames` says whether the file has video.
        func joined(with fragment: FragmentMap.Fragment, hasFrames: Bool) -> Piece {
            var joined = self
            joined.bytes = bytes.lowerBound..<fragment.bytes.upperBound
            let length = Duration.nanoseconds(fragment.duration)
            let end = fragment.start + length - start
            if fragment.frames > 0 || !hasFrames {
                joined.duration += length
            } else if end - duration > RangePlaylist.audioTail {
                // Audio usually ends a little later than the frames that it belongs to. Such audio adds no time to the
                // piece. Audio that continues for longer without frames adds its time.
                joined.duration = end
            }
            return joined
        }
    }

    /// How much later than the last frame of a fragment its audio may end: a few frames of AAC.
    private static let audioTail = Duration.milliseconds(100)
    /// The minimum length of a piece, even if keyframes are more frequent; the last piece of a file may
    /// be shorter. Unless the maximum length is reached, the next piece begins with a fragment that contains a
    /// keyframe, usually as its first frame.
    private static let shortest = Duration.seconds(2)
    /// The maximum length of a piece. A piece that would become longer ends without waiting for a
    /// keyframe.
    private static let longest = Duration.seconds(10)
    /// The target duration, in seconds. It does not depend on the lengths of the pieces, because it must not change
    /// while the playlist grows, nor when the playlist ends (RFC 8216, 6.2.1). Only a fragment that is longer than the
    /// maximum length of a piece would need a larger value, and recorders write fragments of half a second.
    private static let target = longest.components.seconds

    private let from: Int64
    private let to: Int64?
    private let query: String

    /// Creates a playlist of the recordings from `from` to `to`, in milliseconds since 1970. If `to` is nil, the
    /// playlist grows as long as a recording grows. `query` is appended to each address.
    init(from: Int64, to: Int64?, query: String = "") { (self.from, self.to, self.query) = (from, to, query) }

    /// Returns the text for `files` and `marks`, which are in the order of time; nil if no file overlaps the range and
    /// no file can still grow into it. A mark is written in front of the piece that contains it.
    func text(_ files: [File], marks: [Mark] = []) -> String? {
        var marks = Self.numbered(marks)[...]
        var lines: [String] = []
        var target = Self.target
        var isGrowing = false
        for file in files {
            let reached = file.date(of: file.fragments.last.map { $0.start + .nanoseconds($0.duration) } ?? .zero)
            let goesOn = file.isOpen && to.map { $0 > reached } ?? true
            isGrowing = isGrowing || goesOn
            let pieces = pieces(of: file, leavesLast: goesOn).filter { meets($0, file) }
            guard let first = pieces.first else { continue }
            if !lines.isEmpty { lines.append("#EXT-X-DISCONTINUITY") }
            lines.append("#EXT-X-MAP:URI=\"recordings/\(file.id)/init.mp4\(query)\"")
            let time = UTCTime(milliseconds: file.date(of: first.start)).extended
            lines.append("#EXT-X-PROGRAM-DATE-TIME:\(time)")
            for piece in pieces {
                let start = file.date(of: piece.start)
                marks = marks.drop { $0.date < start }
                let told = marks.prefix { $0.date < start + piece.duration.inMilliseconds }
                marks = marks.dropFirst(told.count)
                lines += told.map(\.line)
                target = max(target, (piece.duration.inNanoseconds + 999_999_999) / 1_000_000_000)
                lines.append("#EXTINF:\(Self.seconds(piece.duration)),")
                lines.append("#EXT-X-BYTERANGE:\(piece.bytes.count)@\(piece.bytes.lowerBound)")
                lines.append("recordings/\(file.id)/media.mp4\(query)")
            }
        }
        if lines.isEmpty, !isGrowing { return nil }
        let head = [
            "#EXTM3U", "#EXT-X-VERSION:7", "#EXT-X-TARGETDURATION:\(target)", "#EXT-X-MEDIA-SEQUENCE:0",
            "#EXT-X-PLAYLIST-TYPE:\(isGrowing ? "EVENT" : "VOD")",
        ]
        return (head + lines + (isGrowing ? [] : ["#EXT-X-ENDLIST"])).map { $0 + "\n" }.joined()
    }

    /// Numbers the marks that have the same date, so that players can distinguish them. A mark keeps its number when
    /// the list grows.
    private static func numbered(_ marks: [Mark]) -> [HLSMark] {
        var (date, number) = (Int64?.none, 0)
        return marks.map { mark in
            (date, number) = (mark.date, mark.date == date ? number + 1 : 0)
            return HLSMark(mark.text, at: mark.date, number: number)
        }
    }

    private func meets(_ piece: Piece, _ file: File) -> Bool {
        let start = file.date(of: piece.start)
        return start + piece.duration.inMilliseconds > from && to.map { start < $0 } ?? true
    }

    /// The playlist segments of `file`. If `leavesLast` is set, the last one is left out, because it is not complete
    /// while the file is being written.
    private func pieces(of file: File, leavesLast: Bool) -> [Piece] {
        var pieces: [Piece] = []
        let hasFrames = file.fragments.contains { $0.frames > 0 }
        for fragment in file.fragments {
            let canBegin = fragment.beginsWithKeyframe || fragment.keyframe != nil
            let longer = pieces.last.map { $0.joined(with: fragment, hasFrames: hasFrames) }
            if let last = pieces.last, let longer, !canBegin || last.duration < Self.shortest,
                longer.duration <= Self.longest
            {
                pieces[pieces.count - 1] = longer
            } else {
                pieces.append(Piece(fragment))
            }
        }
        if leavesLast { _ = pieces.popLast() }
        return pieces
    }

    /// Returns `length` as seconds with six decimal places.
    private static func seconds(_ length: Duration) -> String {
        let micros = length.inNanoseconds / 1000
        let digits = String(micros % 1_000_000)
        return "\(micros / 1_000_000).\(String(repeating: "0", count: 6 - digits.count))\(digits)"
    }
}

// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Catalogue
internal import Foundation
internal import Kernels
internal import MP4
internal import Media
internal import Program
internal import Studio

/// Writes clips as a run-down, which people can edit, and from which the clips can be joined one after the other. File
/// names are relative to the directory of the recordings. A clip that spans two files becomes two segments.
struct ClipProject {
    /// The channel's name, which is written into a comment of the run-down.
    let channel: String
    /// Aligns a piece with the frames of its file.
    var fit: (Piece) -> Piece = { $0 }

    /// A clip at its position in the run-down.
    struct Item {
        let clip: CatalogueClip
        /// The range of the clip's program times; nil as long as the clip has not been ended.
        var times: Range<ProgramInstant>?
        var transition: TransitionRequest?
        var audioOffset = Duration.zero

        init(_ clip: CatalogueClip) { (self.clip, times) = (clip, clip.times) }
    }

    /// Returns the run-down of `clips` in the order of time. `files` contains the files of the clips, by run of the
    /// recorder.
    func text(_ clips: [CatalogueClip], files: [String: [RunFile]]) -> String {
        text(clips.map(Item.init), in: "the order of time", files: files)
    }

    /// Returns the run-down of `items`. `order` describes their order in words, and `files` contains the files of the
    /// clips, by run of the recorder. A clip that has not been ended, or whose recordings are all deleted, becomes a
    /// comment.
    func text(_ items: [Item], in order: String, files: [String: [RunFile]]) -> String {
        var lines = [
            "# Clips of \(YAMLText.plain(channel)), in \(order). Files lie in the directory of the recordings.",
            "segments:",
        ]
        for (number, item) in items.enumerated() {
            let clip = item.clip
            let name = clip.name ?? "Clip \(number + 1)"
            let pieces =
                item.times.map { Self.pieces($0, frame: clip.frameDuration, files[clip.clip.run] ?? []) } ?? []
            if pieces.isEmpty {
                let why = clip.clip.end == nil ? "is running" : "is not recorded any more"
                lines.append("  # \(YAMLText.plain(name)) \(why).")
            }
            for (index, piece) in pieces.map(fit).enumerated() {
                lines.append("  - name: \(YAMLText.quoted(YAMLText.plain(name)))")
                lines.append("    file: \(YAMLText.quoted(piece.file))")
                lines.append("    in: \(Self.seconds(piece.start))s")
                lines.append("    duration: \(Self.seconds(piece.length))s")
                if index > 0 {
                    lines.append("    transition: cut")
                } else if let transition = item.transition {
                    lines.append("    transition: \(Self.text(transition))")
                }
                if item.audioOffset != .zero {
                    let (offset, isEarly) = (item.audioOffset, item.audioOffset < .zero)
                    lines.append(
                        "    audioOffset: \(isEarly ? "-" : "")\(Self.seconds(isEarly ? .zero - offset : offset))s")
                }
            }
        }
        // If `segments:` had no entries, its value in YAML would be null. Therefore an empty list is written.
        if !lines.contains(where: { $0.hasPrefix("  -") }) { lines[1] = "segments: []" }
        return lines.map { $0 + "\n" }.joined()
    }

    /// Returns a transition in the syntax of run-downs.
    private static func text(_ transition: TransitionRequest) -> String {
        let length = Duration.seconds(transition.seconds ?? 1)
        guard transition.type != .cut, length > .zero else { return "cut" }
        let easing = transition.easing.map { ", easing: \($0.rawValue)" } ?? ""
        // The color begins with `#`, which would begin a comment in YAML without quotes.
        let color = transition.color.map { ", color: \"\($0)\"" } ?? ""
        return "{type: \(transition.type.rawValue), seconds: \(seconds(length))\(easing)\(color)}"
    }

    /// A part of a clip that is in one file. ``start`` is relative to the file's first frame.
    struct Piece: Equatable {
        /// `file` is the name that the file has after it is closed; `opened` is the name under which it is opened now.
        let file: String
        let opened: String
        let start: Duration
        let length: Duration
    }

    /// Returns the parts of `times` that are in `files`, which belong to the same run; `frame` is the length of a
    /// frame. Parts that are not longer than `least`, by default half a frame, are
    /// skipped.
    static func pieces(
        _ times: Range<ProgramInstant>, frame: Duration, least: Duration? = nil, _ files: [RunFile]
    ) -> [Piece] {
        files.compactMap { file in
            let part = times.clamped(to: file.program)
            // By default, a part of up to half a frame is skipped: it is a rounding error of times, and contains no
            // frame of the program.
            guard part.upperBound - part.lowerBound > least ?? frame / 2 else { return nil }
            return Piece(
                file: file.closedName, opened: file.name, start: part.lowerBound - file.program.lowerBound,
                length: part.upperBound - part.lowerBound)
        }
    }

    /// Returns `length` as seconds with six decimals, which are enough to distinguish frames at any frame rate.
    private static func seconds(_ length: Duration) -> String {
        let micros = (length.inNanoseconds + 500) / 1000
        let fraction = String(micros % 1_000_000)
        return "\(micros / 1_000_000).\(String(repeating: "0", count: 6 - fraction.count))\(fraction)"
    }
}

extension ClipProject.Piece {
    /// The maximum rounding error of times: a millisecond, the unit of RTMP and FLV.
    private static let rounding = Duration.milliseconds(1)

    /// Returns the piece aligned with the frames of `index`: it begins with the first frame that begins in the piece,
    /// and ends with the last such frame. This is necessary because the program that reads the run-down uses only
    /// frames that are completely inside the piece. If the file's frames did not coincide with those of the program,
    /// the last frame would be lost. Returns the piece unchanged if no frame begins in it.
    func fitted(to index: SegmentIndex) -> Self {
        let base = TimeBase(1, Int32(clamping: index.video.timescale))
        func ticks(_ time: Duration) -> Int64 {
            max(0, TimeBase.nanoseconds.rescale((time - Self.rounding).inNanoseconds, to: base, rounding: .up))
        }
        let (low, high) = (ticks(start), ticks(start + length))
        var (first, end, last) = (Int64.max, Int64.max, Int64.min)
        for sample in index.video.samples where sample.pts >= low {
            first = min(first, sample.pts)
            if sample.pts >= high { end = min(end, sample.pts) }
            last = max(last, sample.pts)
        }
        guard first < high else { return self }
        if end == .max { end = last + index.facts.leading.sampleDuration }
        let begin = base.duration(first)
        return Self(file: file, opened: opened, start: begin, length: base.duration(end) - begin)
    }
}

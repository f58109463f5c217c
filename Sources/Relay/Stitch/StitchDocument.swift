// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Media
internal import Stitcher

/// What `relay stitch` is going to do, as JSON or as text.
struct StitchDocument: Encodable {
    struct Clip: Encodable {
        let file: String
        /// The clip's start in its file, in milliseconds.
        let from: Int64
        /// The clip's length, in milliseconds.
        let milliseconds: Int64
        let copiedFrames: Int
        let encodedFrames: Int
        /// Whether packets of the clip's audio are copied.
        let copiesAudio: Bool
        /// Why no packet of the clip's audio is copied; nil if some packets are copied, or if the result has no audio.
        let audioReason: String?
        /// By how many microseconds the clip's frames are later than the frame rate requires; negative if they are
        /// earlier. The frames are moved so that the clip's audio can be copied.
        let moved: Int64
        /// Why none of the clip's frames is copied; empty if some frames are copied, or if the clip contains no whole
        /// GOP.
        let reasons: [String]
        let notes: [String]

        enum CodingKeys: String, CodingKey {
            case file, from, milliseconds, reasons, notes
            case copiesAudio = "copies_audio"
            case audioReason = "audio_reason"
            case moved = "moved_us"
            case copiedFrames = "copied_frames"
            case encodedFrames = "encoded_frames"
        }
    }

    let output: String?
    let milliseconds: Int64
    let codec: String
    let width: Int
    let height: Int
    let frameRate: String
    let sampleRate: Int32?
    let channels: Int?
    let bytes: Int64
    let clips: [Clip]
    /// Notes about the whole plan.
    let notes: [String]

    enum CodingKeys: String, CodingKey {
        case output, milliseconds, codec, width, height, channels, clips, notes
        case frameRate = "frame_rate"
        case sampleRate = "sample_rate"
        case bytes = "estimated_bytes"
    }

    init(_ job: StitchJob, output: String?) {
        let plan = job.plan
        let frame = plan.video.frameRate.timeBase
        self.output = output
        milliseconds = frame.rescale(Int64(plan.frameCount), to: .milliseconds)
        codec = plan.codec
        let (wide, high) = (plan.video.width, plan.video.height)
        (width, height) = plan.orientation.swapsAxes ? (high, wide) : (wide, high)
        frameRate = plan.video.frameRate.description
        (sampleRate, channels) = (plan.audio?.sampleRate, plan.audio?.channels)
        (bytes, notes) = (job.estimatedBytes, job.generalNotes)
        clips = plan.clips.enumerated().map { index, clip in
            let source = job.sources[clip.source]
            let copied = plan.copiedFrames(of: index)
            return Clip(
                file: source.name,
                from: source.video.timeBase.rescale(
                    source.video.times[clip.frames.lowerBound] - source.video.times[0], to: .milliseconds),
                milliseconds: frame.rescale(Int64(clip.count), to: .milliseconds), copiedFrames: copied,
                encodedFrames: clip.count - copied, copiesAudio: job.copiesAudio(of: index),
                audioReason: job.audioReason(of: index),
                moved: job.move(of: index).inNanoseconds / 1000, reasons: clip.reasons, notes: clip.notes)
        }
    }

    var text: String {
        var lines = [
            "\(Self.clock(milliseconds)) of \(codec), \(width)x\(height) at \(frameRate) frames a second, "
                + (sampleRate.map { "AAC of \($0) Hz\(channels == 1 ? ", mono" : "")" } ?? "no audio")
        ]
        for (number, clip) in clips.enumerated() {
            var line = "\(number + 1)  \(clip.file) from \(Self.clock(clip.from)), \(Self.clock(clip.milliseconds)): "
            if clip.encodedFrames == 0 {
                line += "copied"
            } else if clip.copiedFrames > 0 {
                line += "copied, but for \(clip.encodedFrames) frames at its ends"
            } else if clip.reasons.isEmpty {
                line += "coded again: it holds no whole GOP"
            } else {
                line += "coded again: \(clip.reasons.joined(separator: "; "))"
            }
            if sampleRate != nil {
                line += clip.copiesAudio ? "; audio copied" : "; audio coded again"
                line += clip.audioReason.map { ": \($0)" } ?? ""
            }
            lines.append(line)
            if clip.moved != 0 {
                let time = "\(abs(clip.moved) / 1000).\(abs(clip.moved) / 100 % 10) ms"
                lines.append(
                    "   its frames come \(time) \(clip.moved > 0 ? "later" : "sooner"), so that its audio can be copied"
                )
            }
            lines += clip.notes.map { "   \($0)" }
        }
        lines += notes
        return lines.map { $0 + "\n" }.joined()
    }

    /// Formats hours, minutes, seconds and milliseconds.
    fileprivate static func clock(_ milliseconds: Int64) -> String {
        let parts = [milliseconds / 60_000 % 60, milliseconds / 1000 % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }
        let fraction = String(String(1000 + milliseconds % 1000).dropFirst())
        return "\(milliseconds / 3_600_000):\(parts.joined(separator: ":")).\(fraction)"
    }
}

extension StitchReport {
    /// The result of the run, as text for people.
    var text: String {
        "\(output): \(StitchDocument.clock(milliseconds)) of \(clips) clips, \(copiedFrames) frames copied, "
            + "\(encodedFrames) coded again"
            + (resumedFrames.map { $0 > 0 ? ", \($0) of them by the run before" : "" } ?? "") + "\n"
            + warnings.map { $0 + "\n" }.joined()
    }
}

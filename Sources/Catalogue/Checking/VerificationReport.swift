// SPDX-License-Identifier: Apache-2.0

/// The result of verifying a directory.
package struct VerificationReport: Sendable, Codable, Equatable {
    /// An error, or a fact to note.
    package struct Problem: Sendable, Codable, Equatable {
        /// The file's path, relative to the directory of the recordings; nil if the problem does not concern a single
        /// file.
        package var file: String?
        /// The problem, in one sentence.
        package var text: String
    }

    /// A part of a program that is missing in all files.
    package struct Missing: Sendable, Codable, Equatable {
        /// The channel of the program.
        package var channel: String
        /// When the first missing frame was on air, such as `2026-11-21T14:03:10.123Z`.
        package var from: String
        /// When the next recorded frame was on air; nil if the recorder's run has no later frame.
        package var to: String?
        /// Number of missing frames; nil if it is unknown.
        package var frames: Int?
        /// Number of missing samples of audio; nil if it is unknown.
        package var audioSamples: Int64?
        /// Why this part is missing.
        package var cause: String
    }

    /// The number of files that were read and belong to the recordings.
    package var segments = 0
    /// The total duration of the files in ``segments``, in nanoseconds of program time.
    package var duration: Int64 = 0
    /// The number of frames in the files in ``segments``.
    package var frames = 0
    /// The problems that were found.
    package var problems: [Problem] = []
    /// The parts of programs that are missing in all files.
    package var missing: [Missing] = []
    /// Facts to note that are not errors.
    package var notes: [Problem] = []

    /// Whether nothing is wrong and nothing is missing.
    package var isGood: Bool { problems.isEmpty && missing.isEmpty }

    mutating func problem(_ file: String?, _ text: String) { problems.append(Problem(file: file, text: text)) }
    mutating func note(_ file: String?, _ text: String) { notes.append(Problem(file: file, text: text)) }

    /// The report in the form for JSON, with the verdict.
    package struct Verdict: Sendable, Encodable {
        let report: VerificationReport

        private enum CodingKeys: String, CodingKey {
            case sentence
            case isGood = "good"
        }

        package func encode(to encoder: any Encoder) throws {
            try report.encode(to: encoder)
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(report.sentence, forKey: .sentence)
            try container.encode(report.isGood, forKey: .isGood)
        }
    }

    /// The report with its verdict.
    package var verdict: Verdict { Verdict(report: self) }

    /// The report for people: notes, problems, missing parts, and one sentence at the end.
    package var lines: [String] {
        notes.map { "note: \(Self.text($0))" } + problems.map { "wrong: \(Self.text($0))" } + missing.map(Self.text)
            + [sentence]
    }

    private static func text(_ problem: Problem) -> String {
        (problem.file.map { "\($0): " } ?? "") + problem.text
    }

    private static func text(_ missing: Missing) -> String {
        var text = "missing: \(missing.channel), from \(missing.from)"
        if let to = missing.to { text += " to \(to)" }
        var parts: [String] = []
        if let frames = missing.frames, frames > 0 { parts.append("\(frames) frames") }
        if let samples = missing.audioSamples, samples > 0 { parts.append("\(samples) samples of audio") }
        if parts.isEmpty { parts.append(missing.to == nil ? "all until the next start" : "less than a frame") }
        return text + ": \(parts.joined(separator: ", ")); \(missing.cause)"
    }

    /// The verdict in one sentence.
    package var sentence: String {
        let head = "\(segments) segment\(segments == 1 ? "" : "s"), \(Self.clock(duration))"
        if isGood { return "\(head), no frame missing" }
        var parts: [String] = []
        let frames = missing.compactMap(\.frames).reduce(0, +)
        if frames > 0 { parts.append("\(frames) frame\(frames == 1 ? "" : "s") missing") }
        let open = missing.count { $0.frames == nil }
        if open > 0 { parts.append("\(open) sudden end\(open == 1 ? "" : "s")") }
        if missing.contains(where: { $0.frames == 0 }) { parts.append("audio missing") }
        if !problems.isEmpty { parts.append("\(problems.count) thing\(problems.count == 1 ? "" : "s") wrong") }
        return "\(head), \(parts.joined(separator: ", "))"
    }

    /// Formats nanoseconds as `h:mm:ss`, rounded to the nearest second.
    package static func clock(_ nanoseconds: Int64) -> String {
        let seconds = (nanoseconds + 500_000_000) / 1_000_000_000
        let pad = { (value: Int64) in (value < 10 ? "0" : "") + String(value) }
        return "\(seconds / 3600):\(pad(seconds / 60 % 60)):\(pad(seconds % 60))"
    }
}

// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import Studio

/// A request to begin a clip.
struct NewClip: ClosedRequest {
    static var keys: [String] { ["id", "name", "at", "before"] }

    /// The largest value of `before`, which says how many seconds before the request a clip begins. Operators hardly
    /// ever want to begin a clip earlier.
    private static let longestBefore = 600.0

    let id: String?
    let name: String?
    let at: Double?
    let before: Double?

    /// Throws if a value is invalid.
    func check() throws(Refusal) {
        guard (0...Self.longestBefore).contains(before ?? 0) else {
            throw Refusal(.unusable, "before is a number of seconds from 0 to \(Int(Self.longestBefore)).")
        }
        if let id { _ = try ClipID.checked(id) }
        _ = try ClipName.checked(name)
        _ = try ClipMoment.checked(at)
    }
}

/// The end of a clip.
struct ClipStop: ClosedRequest {
    static var keys: [String] { ["at"] }

    let at: Double?
}

/// Another name for a clip.
struct NewClipName: ClosedRequest {
    static var keys: [String] { ["name"] }

    let name: String?
}

/// An export of one clip.
struct NewClipExport: ClosedRequest {
    static var keys: [String] { ["handles", "exact"] }

    let handles: Bool?
    let exact: Bool?
}

/// A request to join several clips into one file.
struct NewStitch: ClosedRequest {
    static var keys: [String] {
        let part = ["id", "skipStart", "skipEnd", "audioOffset"] + TransitionRequest.keys.inside("transition")
        return part.inside("clips") + ["name", "hold"]
    }

    struct Part: Decodable {
        let id: String
        let skipStart: Int64?
        let skipEnd: Int64?
        let transition: TransitionRequest?
        let audioOffset: Double?
    }

    /// The maximum number of clips in one file.
    private static let mostParts = 1000
    /// The maximum number of frames that a request may leave out at the beginning or end of a clip. This number of
    /// frames lasts for many years.
    private static let mostSkipped: Int64 = 1 << 40
    /// The range, in seconds, in which a request can move the audio relative to the video.
    private static let offsets = -10.0...10.0

    let clips: [Part]
    let name: String?
    let hold: Bool?

    /// Throws if a value is invalid. The name is not checked here, because not every request needs it.
    func check() throws(Refusal) {
        guard (1...Self.mostParts).contains(clips.count) else {
            throw Refusal(.unusable, "clips is a list of 1 to \(Self.mostParts) clips.")
        }
        for part in clips { try Self.check(part) }
    }

    private static func check(_ part: Part) throws(Refusal) {
        guard (0...mostSkipped).contains(part.skipStart ?? 0), (0...mostSkipped).contains(part.skipEnd ?? 0) else {
            throw Refusal(.unusable, "skipStart and skipEnd are numbers of frames.")
        }
        guard offsets.contains(part.audioOffset ?? 0) else {
            throw Refusal(.unusable, "audioOffset is a number of seconds from -10 to 10.")
        }
        guard part.transition?.stinger == nil else {
            throw Refusal(.unusable, "Clips are not put together with stingers.")
        }
        guard (0...TransitionRequest.longest).contains(part.transition?.seconds ?? 0) else {
            throw Refusal(.unusable, "A transition lasts from 0 to \(Int(TransitionRequest.longest)) seconds.")
        }
        _ = try ClipID.checked(part.id)
    }
}

/// The check of a clip's identifier in a request.
enum ClipID {
    private static let longest = 64

    /// Returns `text` if it can identify a clip; throws if it cannot.
    static func checked(_ text: String) throws(Refusal) -> String {
        let isPlain = text.utf8.allSatisfy { byte in
            (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte) || byte == 45
        }
        guard (1...longest).contains(text.utf8.count), isPlain else {
            throw Refusal(.unusable, "A clip's id has 1 to \(longest) letters, digits and hyphens.")
        }
        return text
    }
}

/// The check of a program time, in seconds, in a request about a clip.
enum ClipMoment {
    /// The largest program time that is accepted: a year, in seconds.
    private static let latest = 31_536_000.0

    /// Returns `seconds` if they can be a program time; throws if they cannot.
    static func checked(_ seconds: Double?) throws(Refusal) -> Double? {
        guard let seconds else { return nil }
        guard (0...latest).contains(seconds) else { throw Refusal(.unusable, "at is a program time in seconds.") }
        return seconds
    }
}

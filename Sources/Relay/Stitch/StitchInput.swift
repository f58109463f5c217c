// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Kernels
internal import Media
internal import Networking
internal import Program
internal import Stitcher

/// Reads a clip that is written as an argument: `file#from=1.5,to=4,transition=fade`.
enum StitchInput {
    static let options = ["from", "to", "transition", "audio-offset", "title"]
    private static let lengths = Duration.zero...Duration.seconds(1_000_000)

    /// Reads a clip. `transition` is the clip's transition unless `text` contains one. The text after the last `#` is
    /// read as options only if it begins with the name of an option and `=`, because a file name may contain any
    /// character.
    static func clip(_ text: String, transition: StitchTransition?) throws -> StitchClip {
        guard let mark = text.lastRange(of: "#"),
            options.contains(where: { text[mark.upperBound...].hasPrefix($0 + "=") })
        else {
            var clip = StitchClip(path: text)
            clip.transition = transition
            return clip
        }
        do {
            var list = try OptionList(behindMark: text[mark.upperBound...], of: "clip") { $0 }
            var clip = StitchClip(path: String(text[..<mark.lowerBound]))
            clip.from = try list.takeTime("from", in: lengths)
            clip.to = try list.takeTime("to", in: lengths)
            clip.transition = try list.take("transition").map(self.transition) ?? transition
            clip.audioOffset = try list.take("audio-offset").map(offset) ?? .zero
            clip.title = try list.take("title")
            try list.finish()
            return clip
        } catch let error as AddressError {
            throw ValidationError("\(text[..<mark.lowerBound]): \(error)")
        }
    }

    /// Reads a transition: `fade`, `fade:0.5s` or `fade:0.5s:in-out`.
    static func transition(_ text: String) throws -> StitchTransition {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        guard let kind = Transition.Kind(rawValue: parts[0]), parts.count <= 3 else {
            let kinds = Transition.Kind.allCases.map(\.rawValue).joined(separator: ", ")
            throw ValidationError("Write a transition as fade, fade:0.5s or fade:0.5s:in-out; there are \(kinds).")
        }
        let duration = parts.count > 1 ? try ArgumentParsing.duration(parts[1]) : .seconds(1)
        var easing = Easing.linear
        if parts.count > 2 {
            guard let named = Easing(rawValue: parts[2]) else {
                let names = Easing.allCases.map(\.rawValue).joined(separator: ", ")
                throw ValidationError("A transition's easing is one of \(names).")
            }
            easing = named
        }
        guard duration <= .seconds(60) else { throw ValidationError("A transition lasts at most 60s.") }
        return StitchTransition(Transition(kind, easing: easing), duration: duration)
    }

    /// Reads a duration, which may be negative.
    private static func offset(_ text: String) throws -> Duration {
        let length = try ArgumentParsing.anyDuration(text.hasPrefix("-") ? String(text.dropFirst()) : text)
        guard length <= .seconds(60) else { throw ValidationError("audio-offset= is at most 60s.") }
        return text.hasPrefix("-") ? .zero - length : length
    }
}

extension String {
    /// Returns the range of the last character `part`.
    fileprivate func lastRange(of part: Character) -> Range<Index>? {
        lastIndex(of: part).map { $0..<index(after: $0) }
    }
}

// SPDX-License-Identifier: Apache-2.0

package import Kernels
package import Media
package import Program

/// A show that is planned: what is to be seen one after the other, for how long, and how one gives way to the next.
///
/// A value without a clock. ``RunDownPlayer`` makes of it what happens at which frame, on air as well as faster than the
/// clock. It is bounded: what passes ``fault(sources:unseen:)`` has at most ``mostSegments`` segments of ``mostViews`` views.
package struct RunDown: Sendable, Equatable {
    /// Enough for a day of segments of a minute and a half.
    package static let mostSegments = 1000
    /// Enough for the largest number of sources, and some scenes.
    package static let mostViews = 32
    /// The shortest time in which a viewer sees anything.
    package static let shortest = Duration.milliseconds(100)
    package static let longest = Duration.seconds(7 * 86_400)
    /// The longest transition.
    package static let longestChange = Duration.seconds(5)
    /// What the layout of a segment calls the segment's own file.
    package static let clipName = "file"

    /// How long a segment lasts.
    package enum Length: Sendable, Equatable {
        /// This long, to the nearest frame; what is rounded does not add up from segment to segment.
        case time(Duration)
        /// So many frames of the program.
        case frames(Int64)
        /// Until its file is over.
        case end
        /// Until the operator continues with the next segment.
        case take
    }

    /// A file, and where it begins to be shown.
    package struct Clip: Sendable, Equatable {
        package var path: String
        /// The time of the first frame, from the file's own first one on.
        package var start: Duration
        /// Whether its last frame stands where ``start`` lies behind its end, as it does behind the end of a file that lasts
        /// for less than its segment; otherwise it cannot be shown then.
        package var stands = false

        /// The file at `path`, from `start` on.
        package init(_ path: String, start: Duration = .zero) { (self.path, self.start) = (path, start) }
    }

    /// A scene, and what people call it.
    package struct View: Sendable, Equatable {
        package var layout: SceneLayout
        package var name: String

        /// A scene of this name.
        package init(_ layout: SceneLayout, name: String) { (self.layout, self.name) = (layout, name) }
    }

    /// In which order several views come.
    package enum Order: String, Sendable, Codable, CaseIterable {
        /// As they are listed.
        case listed
        /// Each once, and then each once again, never the same twice in a row.
        case random
    }

    /// Whose audio is heard.
    package enum Audio: Sendable, Equatable {
        /// The program's standard choice.
        case standard
        /// That of the scene's main source.
        case follow
        /// All together.
        case mix
        /// One source, whatever is seen.
        case source(String)
    }

    /// How a view comes on air.
    package struct Change: Sendable, Equatable {
        package var kind: Transition.Kind
        package var duration: Duration
        package var easing: Easing
        /// What a dip goes through, and what is behind a card that turns; black without it.
        package var color: RGBColor?
        /// The stinger of this name, with a cut below it; its length is known once it is loaded.
        package var stinger: String?

        /// At once.
        package static let cut = Change(.cut, .zero)

        /// A transition of these.
        package init(
            _ kind: Transition.Kind, _ duration: Duration = .seconds(1), easing: Easing = .linear,
            color: RGBColor? = nil
        ) {
            (self.kind, self.duration, self.easing) = (kind, kind == .cut ? .zero : duration, easing)
            self.color = color
        }

        /// A stinger, which lasts as long as its file.
        package init(stinger: String) {
            self.init(.cut)
            self.stinger = stinger
        }

        /// The word for it in logs and events.
        package var word: String { stinger.map { "stinger \($0)" } ?? kind.rawValue }

        /// How many frames it has at this rate.
        package func frames(at rate: FrameRate) -> Int64 { rate.timeBase.ticks(duration) }
    }

    /// One part of the show.
    package struct Segment: Sendable, Equatable {
        package var name: String
        /// What is seen: one view, or several in turn.
        package var views: [View]
        /// How long each of several views lasts.
        package var every: Duration?
        package var order = Order.listed
        /// The file that its layouts call ``RunDown/clipName``.
        package var clip: Clip?
        package var length: Length
        /// How it comes on air, and each of several views.
        package var change = Change.cut
        package var audio = Audio.standard
        /// Where its stinger stands in what was read, for people; nil without one.
        package var stingerPlace: String?

        /// A segment of these.
        package init(name: String, views: [View], clip: Clip? = nil, length: Length) {
            (self.name, self.views, self.clip, self.length) = (name, views, clip, length)
        }
    }

    /// What people call it.
    package var name: String
    /// Whether it begins again at its end.
    package var loops = false
    /// What makes another order of random views; the same one makes the same.
    package var seed: UInt64 = 0
    package var segments: [Segment]

    /// A run-down of these.
    package init(name: String, _ segments: [Segment]) { (self.name, self.segments) = (name, segments) }
}

// MARK: What cannot be

extension RunDown.Segment {
    /// What is wrong with it where these sources can be seen and heard, and those that are `unseen` can be heard alone: the key
    /// that says it, and a sentence. Nil if nothing is.
    package func fault(sources: [String], unseen: [String] = []) -> (key: String, text: String)? {
        let known = sources + (clip == nil ? [] : [RunDown.clipName])
        if clip != nil, sources.contains(RunDown.clipName) {
            return ("file", "A source is called \(RunDown.clipName), as the segment's own file: give it another name.")
        }
        if let fault = faultOfViews(known, unseen: unseen) { return ("scene", fault) }
        if let fault = faultOfLength { return ("duration", fault) }
        if let every, views.count > 1 {
            guard (RunDown.shortest...RunDown.longest).contains(every) else {
                return ("every", "It is from \(DurationText(RunDown.shortest)) to \(DurationText(RunDown.longest)).")
            }
        } else if views.count > 1 {
            return ("every", "It is missing: how long is each of them to be seen?")
        }
        if change.duration > RunDown.longestChange {
            return ("transition", "A transition lasts 0 to \(DurationText(RunDown.longestChange)).")
        }
        if let fault = faultOfChange { return ("transition", fault) }
        let heard = known + unseen
        if case .source(let name) = audio, !heard.contains(name) {
            return ("audio", "There is no source \(name). There are follow, mix, \(heard.joined(separator: ", ")).")
        }
        return nil
    }

    /// Why its transition does not fit; nil if it does. That of a stinger is known when its file was read.
    package var faultOfChange: String? {
        if let every, views.count > 1, change.duration > every {
            return "It lasts longer than each view is to be seen."
        }
        if case .time(let length) = length, change.duration > length { return "It lasts longer than the segment." }
        return nil
    }

    private func faultOfViews(_ known: [String], unseen: [String]) -> String? {
        guard (1...RunDown.mostViews).contains(views.count) else {
            return "There are 1 to \(RunDown.mostViews) of them."
        }
        for view in views {
            do throws(SceneLayout.Fault) { try view.layout.check() } catch { return error.description }
            if let unknown = view.layout.sources.first(where: { !known.contains($0) }) {
                if unseen.contains(unknown) { return "The source \(unknown) has no video." }
                return "There is no source \(unknown). There are \(known.joined(separator: ", "))."
            }
        }
        if clip != nil, !views.contains(where: { $0.layout.sources.contains(RunDown.clipName) }) {
            return "The segment has a file, and its scene does not show it: one of its sources is \(RunDown.clipName)."
        }
        return nil
    }

    private var faultOfLength: String? {
        switch length {
        case .time(let length):
            let bounds = RunDown.shortest...RunDown.longest
            let text = "It is from \(DurationText(bounds.lowerBound)) to \(DurationText(bounds.upperBound))."
            return bounds.contains(length) ? nil : text
        case .frames(let count): return (1...1_000_000_000).contains(count) ? nil : "It is at least one frame."
        case .end: return clip == nil ? "Only a file has an end: give a time, or take." : nil
        case .take: return nil
        }
    }
}

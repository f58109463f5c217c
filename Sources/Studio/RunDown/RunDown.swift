// SPDX-License-Identifier: Apache-2.0

package import Kernels
package import Media
package import Program

/// A planned show: a sequence of segments with their scenes, lengths and transitions.
///
/// This is only a plan: ``RunDownPlayer`` computes from it the actions for each frame, both on air and when the show is
/// rendered faster than real time. The size is limited: ``RunDownReader`` accepts at most ``mostSegments`` segments,
/// and ``Segment/fault(sources:unseen:)`` accepts at most ``mostViews`` views of a segment.
package struct RunDown: Sendable, Equatable {
    /// The maximum number of segments: enough for a day of segments of one and a half minutes.
    package static let mostSegments = 1000
    /// The maximum number of views of a segment: enough for all sources and some scenes.
    package static let mostViews = 32
    /// The minimum length of a segment whose length is a time, and the minimum time for which one of several views is
    /// shown: a viewer cannot recognize anything in less time. A segment whose length is a number of frames can be
    /// shorter.
    package static let shortest = Duration.milliseconds(100)
    package static let longest = Duration.seconds(7 * 86_400)
    /// The longest transition.
    package static let longestChange = Duration.seconds(5)
    /// The name by which a segment's layouts refer to the segment's own file.
    package static let clipName = "file"

    /// The length of a segment.
    package enum Length: Sendable, Equatable {
        /// A time, rounded to the nearest frame; rounding errors do not accumulate from segment to segment.
        case time(Duration)
        /// A number of frames of the program.
        case frames(Int64)
        /// Until the segment's file has ended.
        case end
        /// Until the operator starts the next segment.
        case take
    }

    /// A file, and the position at which it begins.
    package struct Clip: Sendable, Equatable {
        package var path: String
        /// The position of the first frame, relative to the file's own first frame.
        package var start: Duration
        /// Whether the file's last frame is shown if ``start`` is after the end of the file, as can happen if a segment
        /// is longer than its file and is resumed. If it is false, a file that ends before ``start`` cannot be shown.
        package var stands = false

        /// Creates the clip of the file at `path`, from `start` on.
        package init(_ path: String, start: Duration = .zero) { (self.path, self.start) = (path, start) }
    }

    /// A scene with its name.
    package struct View: Sendable, Equatable {
        package var layout: SceneLayout
        package var name: String

        package init(_ layout: SceneLayout, name: String) { (self.layout, self.name) = (layout, name) }
    }

    /// The order in which several views are shown.
    package enum Order: String, Sendable, Codable, CaseIterable {
        /// The views in the listed order.
        case listed
        /// A random order: each view is shown once per round, and the same view is never shown twice in a row.
        case random
    }

    /// Determines which sources are audible.
    package enum Audio: Sendable, Equatable {
        /// The program's standard choice.
        case standard
        /// The scene's main source is audible.
        case follow
        /// All sources are audible, mixed.
        case mix
        /// This source is always audible, even while others are visible.
        case source(String)
    }

    /// The transition to a view.
    package struct Change: Sendable, Equatable {
        package var kind: Transition.Kind
        package var duration: Duration
        package var easing: Easing
        /// The color in the middle of a dip, or behind the turning image of a flip; nil means black.
        package var color: RGBColor?
        /// The name of the stinger that covers the cut to the view; nil for other transitions. The length of a stinger
        /// is known only when its file is loaded.
        package var stinger: String?

        /// A change by a cut.
        package static let cut = Change(.cut, .zero)

        /// Creates a transition without a stinger.
        package init(
            _ kind: Transition.Kind, _ duration: Duration = .seconds(1), easing: Easing = .linear,
            color: RGBColor? = nil
        ) {
            (self.kind, self.duration, self.easing) = (kind, kind == .cut ? .zero : duration, easing)
            self.color = color
        }

        /// Creates a transition by a stinger. Its duration is zero until it is set to the length of the stinger's file.
        package init(stinger: String) {
            self.init(.cut)
            self.stinger = stinger
        }

        /// The transition's name.
        package var name: TransitionName { TransitionName(kind, stinger: stinger) }

        /// The number of frames of the transition at this rate.
        package func frames(at rate: FrameRate) -> Int64 { rate.timeBase.ticks(duration) }
    }

    /// One part of the show.
    package struct Segment: Sendable, Equatable {
        package var name: String
        /// The views of the segment: one view, or several views that are shown in turn.
        package var views: [View]
        /// How long each view is shown, if there are several.
        package var every: Duration?
        package var order = Order.listed
        /// The file that the segment's layouts call ``RunDown/clipName``.
        package var clip: Clip?
        package var length: Length
        /// The transition to the segment, and between its views if there are several.
        package var change = Change.cut
        package var audio = Audio.standard
        /// The position of the segment's stinger in the text of the run-down, for messages; nil without a stinger.
        package var stingerPlace: String?

        /// Creates a segment with a cut and the standard audio.
        package init(name: String, views: [View], clip: Clip? = nil, length: Length) {
            (self.name, self.views, self.clip, self.length) = (name, views, clip, length)
        }
    }

    /// The run-down's name.
    package var name: String
    /// Whether the run-down restarts at its end.
    package var loops = false
    /// The seed of random orders. The same seed gives the same order.
    package var seed: UInt64 = 0
    package var segments: [Segment]

    /// Creates a run-down of these segments.
    package init(name: String, _ segments: [Segment]) { (self.name, self.segments) = (name, segments) }
}

// MARK: Validation

extension RunDown.Segment {
    /// Describes what is wrong with the segment: the key that is wrong, and a sentence. Nil if nothing is wrong.
    /// `sources` are the names of the sources with video and audio, and `unseen` are the names of those with audio
    /// only.
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

    /// Describes why the segment's transition cannot be used; nil if it can be. A stinger can be checked only after its
    /// file was read.
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

// SPDX-License-Identifier: Apache-2.0

package import Kernels
package import Media

/// The content on air: the visible videos, their placements, and the audio. A value type; two scenes are equal if all
/// of this is equal.
package struct Scene: Sendable, Equatable {
    /// The origin of frames.
    package enum Video: Sendable, Equatable {
        /// A feed's frames.
        case feed(SourceFeed)
        /// One frame in the program's format, repeated.
        case still(VideoFrame)
        /// The current content of a source: one of its inputs, or its slate.
        case source(Bus)

        package static func == (left: Video, right: Video) -> Bool {
            switch (left, right) {
            case (.feed(let left), .feed(let right)): left === right
            case (.still(let left), .still(let right)): left.storage === right.storage
            case (.source(let left), .source(let right)): left === right
            default: false
            }
        }

        /// The same video, but a source is replaced by the feed or still image that it shows now; nil for a source that
        /// shows nothing.
        var resolved: Video? {
            guard case .source(let bus) = self else { return self }
            return bus.scene?.layers.first?.video.resolved
        }

        /// The feed whose frames are shown now; nil if it is not a feed.
        var feed: SourceFeed? {
            if case .feed(let feed) = resolved { feed } else { nil }
        }
    }

    /// A video and its placement.
    package struct Layer: Sendable, Equatable {
        /// The video.
        package var video: Video
        /// The placement.
        package var placement: Placement

        /// A layer with `video` at this placement, by default the whole frame.
        package init(_ video: Video, at placement: Placement = .full) {
            (self.video, self.placement) = (video, placement)
        }
    }

    /// The origin of audio.
    package enum Audio: Sendable, Equatable {
        /// A feed's audio.
        case feed(SourceFeed)
        /// The audio of a source's current content.
        case source(Bus)

        package static func == (left: Audio, right: Audio) -> Bool {
            switch (left, right) {
            case (.feed(let left), .feed(let right)): left === right
            case (.source(let left), .source(let right)): left === right
            default: false
            }
        }

        /// The feeds from which the audio comes now.
        var feeds: [SourceFeed] {
            switch self {
            case .feed(let feed): [feed]
            case .source(let bus): bus.scene?.audio.flatMap(\.feeds) ?? []
            }
        }
    }

    /// The visible layers, from back to front. The first is the main layer: the program's clock follows it.
    package var layers: [Layer]
    /// The audible sources, which are mixed; empty for silence.
    package var audio: [Audio]
    /// The overlays over the layers, unless an operator has chosen others. Transitions happen below the overlays.
    package var overlays: [Overlay] = []

    package init(layers: [Layer], audio: [Audio], overlays: [Overlay] = []) {
        (self.layers, self.audio, self.overlays) = (layers, audio, overlays)
    }

    package static func == (left: Scene, right: Scene) -> Bool {
        left.layers == right.layers && left.audio == right.audio
            && left.overlays.elementsEqual(right.overlays) { $0 === $1 }
    }

    /// A scene with one video that fills the frame, and with the audio of one feed; nil means silence.
    package init(video: Video, audio: SourceFeed?) {
        self.init(layers: [Layer(video)], audio: audio.map { [.feed($0)] } ?? [])
    }

    /// The feed that the main layer shows now; nil for a still image.
    var mainFeed: SourceFeed? { layers.first?.video.feed }

    /// Whether the program waits for the main feed.
    var waits: Bool { mainFeed?.isAwaited == true }

    /// The feeds that are visible or audible in the scene now, without repetition.
    var feeds: [SourceFeed] {
        var feeds: [SourceFeed] = []
        for feed in layers.compactMap(\.video.feed) + audio.flatMap(\.feeds)
        where !feeds.contains(where: { $0 === feed }) {
            feeds.append(feed)
        }
        return feeds
    }
}

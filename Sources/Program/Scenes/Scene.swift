// SPDX-License-Identifier: Apache-2.0

package import Kernels
package import Media

/// What a program shows and plays: the visible videos, their placements, the audible sources and the overlays. Two
/// scenes are equal if all of these are equal.
package struct Scene: Sendable, Equatable {
    /// Where the frames of a layer come from.
    package enum Video: Sendable, Equatable {
        /// The frames of a feed.
        case feed(SourceFeed)
        /// One frame in the program's format, which is repeated.
        case still(VideoFrame)
        /// What a source shows now: one of its inputs, or its slate.
        case source(Bus)

        package static func == (left: Video, right: Video) -> Bool {
            switch (left, right) {
            case (.feed(let left), .feed(let right)): left === right
            case (.still(let left), .still(let right)): left.storage === right.storage
            case (.source(let left), .source(let right)): left === right
            default: false
            }
        }

        /// The feed or still image that is shown now. If this video is a source, it is what the source shows; nil if
        /// the source shows nothing.
        var resolved: Video? {
            guard case .source(let bus) = self else { return self }
            return bus.scene?.layers.first?.video.resolved
        }

        /// The feed whose frames are shown now; nil for a still image, and for a source that shows nothing.
        var feed: SourceFeed? {
            if case .feed(let feed) = resolved { feed } else { nil }
        }
    }

    /// A video and its place in the frame.
    package struct Layer: Sendable, Equatable {
        /// The video to show.
        package var video: Video
        /// Where the video is placed in the frame.
        package var placement: Placement

        /// Creates a layer that shows `video` at `placement`, by default in the whole frame.
        package init(_ video: Video, at placement: Placement = .full) {
            (self.video, self.placement) = (video, placement)
        }
    }

    /// Where audio comes from.
    package enum Audio: Sendable, Equatable {
        /// The audio of a feed.
        case feed(SourceFeed)
        /// The audio of what a source shows now.
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

    /// The visible layers, from back to front. The first one is the main layer, which the program's clock can follow.
    package var layers: [Layer]
    /// The sources that are mixed; empty for silence.
    package var audio: [Audio]
    /// The overlays in front of the layers. Overlays are drawn over the result of a transition. An operator can also
    /// show and hide overlays independently of the scene.
    package var overlays: [Overlay] = []

    package init(layers: [Layer], audio: [Audio], overlays: [Overlay] = []) {
        (self.layers, self.audio, self.overlays) = (layers, audio, overlays)
    }

    package static func == (left: Scene, right: Scene) -> Bool {
        left.layers == right.layers && left.audio == right.audio
            && left.overlays.elementsEqual(right.overlays) { $0 === $1 }
    }

    /// Creates a scene with one video that fills the frame, and with the audio of one feed, or with silence if `audio`
    /// is nil.
    package init(video: Video, audio: SourceFeed?) {
        self.init(layers: [Layer(video)], audio: audio.map { [.feed($0)] } ?? [])
    }

    /// The feed that the main layer shows now; nil if it shows a still image or nothing.
    var mainFeed: SourceFeed? { layers.first?.video.feed }

    /// Whether the program waits for the frames of the main feed.
    var waits: Bool { mainFeed?.isAwaited == true }

    /// The feeds that are visible or audible in the scene now, each once.
    var feeds: [SourceFeed] {
        var feeds: [SourceFeed] = []
        for feed in layers.compactMap(\.video.feed) + audio.flatMap(\.feeds)
        where !feeds.contains(where: { $0 === feed }) {
            feeds.append(feed)
        }
        return feeds
    }
}

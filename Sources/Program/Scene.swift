// SPDX-License-Identifier: Apache-2.0

package import Media

/// What is on air: whose video, and whose audio. Two scenes are equal if they show the same.
package struct Scene: Sendable, Equatable {
    /// Where frames come from.
    package enum Video: Sendable, Equatable {
        /// A source's frames.
        case feed(SourceFeed)
        /// One frame, in the program's format, again and again.
        case still(VideoFrame)

        package static func == (left: Video, right: Video) -> Bool {
            switch (left, right) {
            case (.feed(let left), .feed(let right)): left === right
            case (.still(let left), .still(let right)): left.storage === right.storage
            default: false
            }
        }
    }

    /// What is seen.
    package var video: Video
    /// Where audio comes from; nil for silence.
    package var audio: SourceFeed?

    /// A scene of these.
    package init(video: Video, audio: SourceFeed?) {
        (self.video, self.audio) = (video, audio)
    }

    package static func == (left: Scene, right: Scene) -> Bool {
        left.video == right.video && left.audio === right.audio
    }

    /// The feed whose frames are shown; nil for a still.
    var videoFeed: SourceFeed? {
        if case .feed(let feed) = video { feed } else { nil }
    }

    /// Whether the program waits for what it shows.
    var waits: Bool { videoFeed?.pacing == .waits }

    /// The feeds in it, each once.
    var feeds: [SourceFeed] {
        let video = videoFeed
        return [video, audio === video ? nil : audio].compactMap(\.self)
    }
}

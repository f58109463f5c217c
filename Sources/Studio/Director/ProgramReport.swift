// SPDX-License-Identifier: Apache-2.0

package import Program
package import Status

/// What a program of several sources shows, and what it would show next.
package struct ProgramReport: Sendable, Codable {
    /// One of the sources.
    package struct Source: Sendable, Codable {
        /// Its name.
        package var name: String
        /// Whether it can be seen. A source without video is only heard: it is in no scene, and has no snapshot.
        package var hasVideo: Bool
        /// What it shows: one of its inputs, or `slate`; nil before anything is shown. For a source without video: what
        /// is heard, nil while nothing arrives.
        package var input: String?
        /// Whether it is seen, also in a transition.
        package var isOnAir: Bool
        /// Whether the preview has it.
        package var isInPreview: Bool
        /// The gain in decibels.
        package var gain: Double
        /// Whether nothing of it is heard.
        package var isMuted: Bool
        /// How much later its audio is heard than it comes, in seconds; earlier if negative.
        package var audioOffset: Double
        /// What a file does while it is off air; nil if the source is not a file.
        package var whenOff: String?
        /// Frames for which the one that was due had not come, so that the one before was shown again; nil for what has no
        /// video.
        package var framesLate: Int?
        /// Why only keyframes of it are shown, in a sentence or two; nil if all of it is.
        package var problem: String?
        /// Frames that were never shown; nil for what has no video.
        package var framesDropped: Int?
        /// The peak of each channel, in dBFS.
        package var levels: [Double]

        /// A source of these properties.
        package init(
            name: String, hasVideo: Bool, input: String?, isOnAir: Bool, isInPreview: Bool, gain: Double, isMuted: Bool,
            audioOffset: Double = 0, levels: [Double]
        ) {
            (self.name, self.hasVideo, self.input) = (name, hasVideo, input)
            (self.isOnAir, self.isInPreview) = (isOnAir, isInPreview)
            (self.gain, self.isMuted, self.audioOffset, self.levels) = (gain, isMuted, audioOffset, levels)
        }
    }

    /// One of the overlays.
    package struct Overlay: Sendable, Codable {
        /// Its name.
        package var name: String
        /// What it says; nil for an image.
        package var text: String?
        /// Whether it is seen now, also while it comes or goes.
        package var isSeen: Bool
        /// What was said of whether it is seen; nil for what scenes say.
        package var visible: Bool?

        /// An overlay of these properties.
        package init(name: String, text: String?, isSeen: Bool, visible: Bool?) {
            (self.name, self.text, self.isSeen, self.visible) = (name, text, isSeen, visible)
        }
    }

    /// A change that waits for its frame.
    package struct Change: Sendable, Codable {
        /// The frame of the program at which it begins.
        package var frame: Int64
        package var scene: SceneLayout
        /// Its name, if it has one.
        package var sceneName: String?

        /// A change to `scene`.
        package init(frame: Int64, scene: SceneLayout, sceneName: String?) {
            (self.frame, self.scene, self.sceneName) = (frame, scene, sceneName)
        }
    }

    /// The first frame of the program that a change can still begin at.
    package var frame: Int64
    /// What is on air, or becomes it by the transition under way.
    package var scene: SceneLayout
    /// Its name, if it has one.
    package var sceneName: String?
    /// What `take` and `auto` put on air.
    package var preview: SceneLayout
    /// Its name, if it has one.
    package var previewName: String?
    /// What `auto` does.
    package var transition: TransitionRequest
    /// How far the transition under way is, from 0 to 1; nil without one.
    package var progress: Double?
    /// Whose audio is heard: `follow`, `mix`, or a source's name.
    package var audioFrom: String
    /// The peak of each channel of what is heard, in dBFS; none before any audio.
    package var levels: [Double] = []
    /// The sources, in the order in which they were given.
    package var sources: [Source]
    /// The scenes that have a name.
    package var scenes: [String]
    /// The overlays, from the back to the front.
    package var overlays: [Overlay] = []
    /// The names of the stingers.
    package var stingers: [String] = []
    /// What was asked for and is not on air yet, by frame.
    package var changes: [Change] = []
    /// Where the run-down is, without its segments; nil if none is loaded.
    package var runDown: RunDownStatus?

    /// A report of what is on air.
    package init(
        frame: Int64, scene: SceneLayout, preview: SceneLayout, transition: TransitionRequest, audioFrom: String,
        sources: [Source], scenes: [String]
    ) {
        (self.frame, self.scene, self.preview, self.transition) = (frame, scene, preview, transition)
        (self.audioFrom, self.sources, self.scenes) = (audioFrom, sources, scenes)
    }
}

// SPDX-License-Identifier: Apache-2.0

package import Program
package import Status

/// A report of a program of several sources: the scene on air, the preview, and the state of its parts.
package struct ProgramReport: Sendable, Codable {
    /// One of the sources.
    package struct Source: Sendable, Codable {
        /// The source's name.
        package var name: String
        /// Whether the source has video. A source without video is only audible: it is not part of any scene, and has
        /// no snapshot.
        package var hasVideo: Bool
        /// The input that the source shows, or `slate`; nil before anything is shown, and in a rendered program. For a
        /// source without video, it is the input that is audible, and nil while no audio arrives.
        package var input: String?
        /// Whether the source is visible, even if only during a transition.
        package var isOnAir: Bool
        /// Whether the source is in the preview.
        package var isInPreview: Bool
        /// The gain of the source's audio, in decibels.
        package var gain: Double
        /// Whether the source is muted.
        package var isMuted: Bool
        /// By how many seconds the audio is played later than without this setting; negative if it is played earlier.
        package var audioOffset: Double
        /// The behavior of a file while it is neither visible nor audible; nil if the source is not a file.
        package var whenOff: String?
        /// The number of times a frame had not arrived when it was due, so that the previous frame was repeated; nil
        /// for a source without video, and in a rendered program.
        package var framesLate: Int?
        /// The reason why only keyframes of the source are shown, in one or two sentences; nil if all frames are shown.
        package var problem: String?
        /// The number of frames that were never shown; nil for a source without video, and in a rendered program.
        package var framesDropped: Int?
        /// The peak of each audio channel of the source, in dBFS.
        package var levels: [Double]

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
        /// The overlay's name.
        package var name: String
        /// The overlay's text; nil for an image.
        package var text: String?
        /// Whether the overlay is visible now, which includes fading in and out.
        package var isSeen: Bool
        /// Whether an operator or the configuration has shown or hidden the overlay; nil if the scenes determine that.
        package var visible: Bool?

        package init(name: String, text: String?, isSeen: Bool, visible: Bool?) {
            (self.name, self.text, self.isSeen, self.visible) = (name, text, isSeen, visible)
        }
    }

    /// A change that is scheduled for a frame.
    package struct Change: Sendable, Codable {
        /// The frame of the program at which the change begins.
        package var frame: Int64
        package var scene: SceneLayout
        /// The scene's name, if it has one.
        package var sceneName: String?

        /// Creates a report of a change to `scene`.
        package init(frame: Int64, scene: SceneLayout, sceneName: String?) {
            (self.frame, self.scene, self.sceneName) = (frame, scene, sceneName)
        }
    }

    /// The first frame of the program at which a change can still begin.
    package var frame: Int64
    /// The scene that is on air, or the scene to which the current transition leads.
    package var scene: SceneLayout
    /// The name of the scene on air, if it has one.
    package var sceneName: String?
    /// The scene that `take` and `auto` put on air.
    package var preview: SceneLayout
    /// The name of the scene in the preview, if it has one.
    package var previewName: String?
    /// The transition that `auto` uses.
    package var transition: TransitionRequest
    /// The progress of the current transition, from 0 to 1; nil if no transition is running.
    package var progress: Double?
    /// The choice of the audible sources: `follow`, `mix`, or a source's name.
    package var audioFrom: String
    /// The peak of each audio channel of the program, in dBFS; empty before any audio.
    package var levels: [Double] = []
    /// The sources, in the configured order.
    package var sources: [Source]
    /// The names of the scenes that have a name.
    package var scenes: [String]
    /// The overlays, from back to front.
    package var overlays: [Overlay] = []
    /// The names of the stingers.
    package var stingers: [String] = []
    /// The scheduled changes, in the order of their frames.
    package var changes: [Change] = []
    /// The status of the run-down, without its segments; nil if no run-down is loaded.
    package var runDown: RunDownStatus?

    package init(
        frame: Int64, scene: SceneLayout, preview: SceneLayout, transition: TransitionRequest, audioFrom: String,
        sources: [Source], scenes: [String]
    ) {
        (self.frame, self.scene, self.preview, self.transition) = (frame, scene, preview, transition)
        (self.audioFrom, self.sources, self.scenes) = (audioFrom, sources, scenes)
    }
}

// SPDX-License-Identifier: Apache-2.0

package import Program

/// What a program of several sources shows, and what it would show next.
package struct ProgramReport: Sendable, Codable {
    /// One of the sources.
    package struct Source: Sendable, Codable {
        /// Its name.
        package var name: String
        /// What it shows: one of its inputs, or `slate`; nil before anything.
        package var input: String?
        /// Whether it is seen, also in a transition.
        package var isOnAir: Bool
        /// Whether the preview has it.
        package var isInPreview: Bool
        /// In decibels.
        package var gain: Double
        /// Whether nothing of it is heard.
        package var isMuted: Bool
        /// The peak of each channel, in dBFS.
        package var levels: [Double]

        /// A source of these properties.
        package init(
            name: String, input: String?, isOnAir: Bool, isInPreview: Bool, gain: Double, isMuted: Bool,
            levels: [Double]
        ) {
            (self.name, self.input, self.isOnAir, self.isInPreview) = (name, input, isOnAir, isInPreview)
            (self.gain, self.isMuted, self.levels) = (gain, isMuted, levels)
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
    /// The sources, in the order in which they were given.
    package var sources: [Source]
    /// The scenes that have a name.
    package var scenes: [String]
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

// SPDX-License-Identifier: Apache-2.0

package import Archive
internal import Media

/// An event that happened to a channel while it was recorded, and that caused no gap, as a row of the catalogue.
package struct CatalogueEvent: Sendable, Codable, Equatable {
    /// The kind of a mark; the event's text is the text of the mark.
    package static let marker = EventKind.marker.rawValue

    /// The channel to which the event happened.
    package var channel: String
    /// When the event happened: milliseconds since 1970-01-01T00:00:00Z.
    package var start: Int64
    /// The kind of event: the name of an ``EventKind``, such as `input` if another input went on air, or
    /// ``SceneEvent/kind``.
    package var kind: String
    /// What happened, without secrets.
    package var text: String
    /// The scene that went on air, if that is the event; ``text`` describes it in words.
    package var scene: SceneEvent?

    private enum CodingKeys: String, CodingKey { case channel, start, kind, text }

    package init(channel: String, at time: UTCTime, kind: String, text: String) {
        (self.channel, start, self.kind, self.text) = (channel, time.milliseconds, kind, text)
    }

    /// The event that a scene went on air.
    package init(channel: String, at time: UTCTime, scene: SceneEvent) {
        (self.channel, start, kind, text) = (channel, time.milliseconds, SceneEvent.kind, scene.text)
        self.scene = scene
    }
}

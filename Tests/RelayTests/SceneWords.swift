// SPDX-License-Identifier: Apache-2.0

import Archive

@testable import Catalogue

extension CatalogueEvent {
    /// The event for the scene in `words`; without a scene if they describe none.
    init(channel: String, at time: UTCTime, words: String) {
        if let scene = SceneEvent(words: words) {
            self.init(channel: channel, at: time, scene: scene)
        } else {
            self.init(channel: channel, at: time, kind: SceneEvent.kind, text: words)
        }
    }
}

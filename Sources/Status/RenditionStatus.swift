// SPDX-License-Identifier: Apache-2.0

package import Encoder

/// The status of a rendition, a further encoding of the program.
package struct RenditionStatus: Sendable, Codable {
    package var name: String
    /// The size of its frames in pixels.
    package var width: Int
    package var height: Int
    package var encoder: EncoderStatus
    /// Frames that were dropped because the encoder could not keep up.
    package var droppedFrames: Int
    /// Why it ended before the program; nil if it did not.
    package var failure: String?

    package init(
        name: String, width: Int, height: Int, encoder: EncoderStatus, droppedFrames: Int, failure: String? = nil
    ) {
        (self.name, self.width, self.height) = (name, width, height)
        (self.encoder, self.droppedFrames, self.failure) = (encoder, droppedFrames, failure)
    }
}

// SPDX-License-Identifier: Apache-2.0

package import Encoder

/// The status of a rendition, which is an additional encoding of the program.
package struct RenditionStatus: Sendable, Codable {
    package var name: String
    /// `width` and `height` are the size of its frames in pixels.
    package var width: Int
    package var height: Int
    package var encoder: EncoderStatus
    /// Frames that were dropped because the encoder could not keep up.
    package var droppedFrames: Int
    /// Why the rendition ended; nil unless it ended before the program.
    package var failure: String?

    /// The status of a rendition with these values.
    package init(
        name: String, width: Int, height: Int, encoder: EncoderStatus, droppedFrames: Int, failure: String? = nil
    ) {
        (self.name, self.width, self.height) = (name, width, height)
        (self.encoder, self.droppedFrames, self.failure) = (encoder, droppedFrames, failure)
    }
}

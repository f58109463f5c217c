// SPDX-License-Identifier: Apache-2.0

package import Media

/// A message of a published stream.
package struct RTMPPublishedMessage: Sendable {
    /// What the message is.
    package enum Content: Sendable {
        case video(FLVVideo)
        case audio(FLVAudio)
        /// The properties of `onMetaData`. Encoders send it again when they change their minds.
        case metadata([String: AMF0Value])
        /// Another data message, such as `onTextData` or `onCuePoint`: its body, AMF0.
        case data(SharedBytes)
        /// Media that we do not carry, told once for each track.
        case unsupported(String)
        /// Audio tracks besides the first, such as `audio track 2 (AAC)`, told once each.
        case otherTracks([String])
    }

    /// Milliseconds of the sender's clock, modulo 2^32; of video the decoding time.
    package let timestamp: UInt32
    /// What the message is.
    package let content: Content
}

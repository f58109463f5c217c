// SPDX-License-Identifier: Apache-2.0

package import Media

/// A message of a published stream.
package struct RTMPPublishedMessage: Sendable {
    /// The kind of message.
    package enum Content: Sendable {
        case video(FLVVideo)
        case audio(FLVAudio)
        /// The properties of `onMetaData`. Encoders send `onMetaData` again when properties change.
        case metadata([String: AMF0Value])
        /// Any other data message, such as `onTextData` or `onCuePoint`: its AMF0 body.
        case data(SharedBytes)
        /// Media of an unsupported codec, which the value names. It is reported once for audio and once for video.
        case unsupported(String)
        /// The tracks of an audio message that has only tracks other than the first, such as `audio track 2 (AAC)`. It
        /// is reported only if one of these tracks is new.
        case otherTracks([String])
    }

    /// Milliseconds of the sender's clock, modulo 2^32; for video the decoding time.
    package let timestamp: UInt32
    /// The message's content.
    package let content: Content
}

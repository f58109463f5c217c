// SPDX-License-Identifier: Apache-2.0

/// A request of a player on air (Adobe RTMP 1.0, 7.2.2).
package enum RTMPPlayerCommand: Equatable, Sendable {
    /// Stop the stream.
    case stop
    /// Pause or continue everything. Live media continues at the next keyframe.
    case pause(Bool)
    /// Pause or continue the video.
    case video(Bool)
    /// Pause or continue the audio.
    case audio(Bool)

    /// Parses the AMF0 `command`; nil if it is another command.
    init?(command: [UInt8]) {
        let values = AMF0Reader.values(command)
        // The flag follows the transaction ID and a null.
        let flag = values.count > 3 ? values[3] : .null
        switch values.first?.text {
        case "deleteStream", "closeStream": self = .stop
        case "pause": self = .pause(flag == .boolean(true))
        case "receiveVideo": self = .video(flag != .boolean(false))
        case "receiveAudio": self = .audio(flag != .boolean(false))
        default: return nil
        }
    }
}

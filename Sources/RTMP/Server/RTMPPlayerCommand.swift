// SPDX-License-Identifier: Apache-2.0

/// A request of a player on air (Adobe RTMP 1.0, 7.2.2).
package enum RTMPPlayerCommand: Equatable, Sendable {
    /// Stop the stream.
    case stop
    /// Pause everything (true) or continue it (false). Live media continues at the next keyframe.
    case pause(Bool)
    /// Continue the video (true) or pause it (false).
    case video(Bool)
    /// Continue the audio (true) or pause it (false).
    case audio(Bool)

    /// Parses the AMF0 `command`, which came on message stream `stream`; nil for other commands, and for a command to
    /// end another stream than `running`. Nil in place of `running` means that each command refers to the stream on
    /// air.
    init?(command: [UInt8], on stream: UInt32, running: RTMPRunningStream?) {
        let values = AMF0Reader.values(command)
        // The command's flag (pause, video or audio) follows the transaction ID and a null.
        let flag = values.count > 3 ? values[3] : .null
        switch values.first?.text {
        case "deleteStream" where running?.isNamed(by: flag) != false: self = .stop
        case "closeStream" where running?.isNamed(by: .number(Double(stream))) != false: self = .stop
        case "pause": self = .pause(flag == .boolean(true))
        case "receiveVideo": self = .video(flag != .boolean(false))
        case "receiveAudio": self = .audio(flag != .boolean(false))
        default: return nil
        }
    }
}

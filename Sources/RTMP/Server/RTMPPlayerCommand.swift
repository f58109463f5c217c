// SPDX-License-Identifier: Apache-2.0

/// What a player on air asks for (Adobe RTMP 1.0, 7.2.2).
package enum RTMPPlayerCommand: Equatable, Sendable {
    /// It wants no more of the stream.
    case stop
    /// It wants nothing until it says otherwise; live media continues from the next keyframe.
    case pause(Bool)
    /// It wants no video until it says otherwise.
    case video(Bool)
    /// It wants no audio until it says otherwise.
    case audio(Bool)

    /// The wish in the AMF0 command `command`, if it is one.
    init?(command: [UInt8]) {
        let values = AMF0Reader.values(command)
        // Behind the transaction and a null.
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

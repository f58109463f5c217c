// SPDX-License-Identifier: Apache-2.0

/// The stream that a client publishes or plays, to which its commands refer.
struct RTMPRunningStream: Sendable, Equatable {
    /// The ID of the message stream on which the stream is published or played.
    let id: UInt32
    /// The stream's name, as in ``RTMPStreamRequest/name``.
    let name: String

    /// Whether `argument` of a command names this stream: by its message stream, or by its name. A command that names
    /// no stream, or message stream 0, refers to the running stream. If the client uses message stream 0, a command
    /// with any other number refers to it, too.
    func isNamed(by argument: AMF0Value) -> Bool {
        if let number = argument.number { return number == 0 || id == 0 || number == Double(id) }
        guard let text = argument.text, !text.isEmpty else { return true }
        return RTMPStreamRequest.bareName(text) == name
    }
}

// SPDX-License-Identifier: Apache-2.0

/// The stream that a client publishes or plays, to which its commands refer.
struct RTMPRunningStream: Sendable, Equatable {
    /// The ID of the message stream on which the stream is published or played.
    let id: UInt32
    /// The stream's name, as in ``RTMPStreamRequest/name``.
    let name: String

    /// Whether `argument` of a command names this stream: by its message stream, or by its name. An argument that names
    /// no stream, or is message stream 0, refers to this stream. If this stream is on message stream 0, an argument
    /// with any other number refers to this stream, too.
    func isNamed(by argument: AMF0Value) -> Bool {
        if let number = argument.number { return number == 0 || id == 0 || number == Double(id) }
        guard let text = argument.text, !text.isEmpty else { return true }
        return RTMPStreamRequest.bareName(text) == name
    }
}

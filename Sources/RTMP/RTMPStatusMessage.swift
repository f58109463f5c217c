// SPDX-License-Identifier: Apache-2.0

package import Media
internal import Networking

/// A server's `onStatus`, `_error` or `close` command (Adobe RTMP 1.0, 7.2.1 and 7.2.2).
package struct RTMPStatusMessage: Equatable, CustomStringConvertible {
    /// Whether the message ends the setup of the stream, because the server will not change its answer.
    package let isError: Bool
    /// Whether the message came in an `onStatus` command.
    private let isStatus: Bool
    let code: String
    let text: String
    /// The `tcUrl` of a reconnect request, if the request has one.
    package let address: String?

    /// Parses the AMF0 `command`; nil for other commands.
    init?(command: [UInt8]) {
        let values = AMF0Reader.values(command)
        guard let name = values.first?.text, ["onStatus", "_error", "close"].contains(name) else { return nil }
        let information = values.last { if case .object = $0 { true } else { false } }
        isStatus = name == "onStatus"
        code = information?.text("code") ?? name
        text = information?.text("description") ?? ""
        address = information?.text("tcUrl")
        // An `_error` command counts only if it answers connect, createStream or publish, which librtmp numbers 1, 4
        // and 5. Errors for releaseStream and FCPublish (transaction IDs 2 and 3) are ignored, because a server does
        // not need to know these commands.
        let isOfConnect = values.count > 1 && values[1] == .number(1)
        let isOfStream = values.count > 1 && (values[1] == .number(4) || values[1] == .number(5))
        isError =
            name == "close" || (name == "_error" && (isOfConnect || isOfStream))
            || (name == "onStatus" && information?.text("level") == "error" && !Self.isOfOtherService(code))
    }

    /// Whether the message ends a stream that is on air: an error of publishing or of the connection. Other errors,
    /// such as `NetStream.Record.Failed`, concern additional services. If the server also refuses the stream, it closes
    /// the connection.
    package var endsPublishing: Bool {
        isError && (!isStatus || ["netstream.publish.", "netconnection."].contains { code.lowercased().hasPrefix($0) })
    }

    /// Whether `code` concerns a service of the server other than publishing.
    private static func isOfOtherService(_ code: String) -> Bool {
        ["netstream.record.", "netstream.play.", "netstream.seek."].contains { code.lowercased().hasPrefix($0) }
    }

    /// Whether the server asks us to publish again. Until we do, the server accepts media (Enhanced RTMP v2, "Reconnect
    /// Request").
    package var isReconnectRequest: Bool { code == "NetConnection.Connect.ReconnectRequest" }

    /// Server texts, with any code, that say that the stream name is in use: possibly by our own last connection, which
    /// the server has not closed yet.
    private static let busy = ["already", "in use"]
    /// Server texts about a problem with a key, a login, a permission or an application that retrying will not solve.
    private static let lasting = [
        "publish.denied", "publish.unauthorized", "connect.invalidapp", "code=403", "needauth", "authfail",
        "nosuchuser",
        "auth failed", "authentication", "unauthorized", "not authorized", "forbidden", "not allowed", "permission",
        "access denied", "stream key", "authorized key", "invalid key", "token",
    ]

    /// The kind of the failure: whether retrying can solve it. `BadName` or `Rejected` without a text can mean either
    /// kind, and counts as one that retrying can solve.
    package var failureKind: OutputFailure.Kind {
        let words = "\(code) \(text)".lowercased()
        if Self.busy.contains(where: { words.contains($0) }) { return .rejected }
        return Self.lasting.contains { words.contains($0) } ? .refused : .rejected
    }

    package var description: String { text.isEmpty ? code : "\(code): \(text)" }

    /// The message in one line of at most 200 characters, without the secrets of `url`. It is truncated after the
    /// secrets are masked, because half of a secret would not be found. Only the beginning of a long message is masked:
    /// a secret can be cut off at its end, and is dropped there.
    package func words(masking url: RTMPURL) -> String {
        let whole = description
        let beginning = whole.prefix(4096)
        var line = url.masking(String(beginning))
        if beginning.endIndex < whole.endIndex { line = String(line.dropLast(url.longestSecret)) }
        return String(line.prefix(200).map { $0.isNewline || $0.asciiValue.map { $0 < 0x20 } == true ? " " : $0 })
    }
}

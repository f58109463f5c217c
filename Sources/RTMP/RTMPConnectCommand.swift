// SPDX-License-Identifier: Apache-2.0

internal import Media

/// The `connect` command (Adobe RTMP 1.0, 7.2.1.1). It replaces librtmp's, which puts additional properties outside the
/// command object.
struct RTMPConnectCommand {
    /// The command's transaction ID.
    static let transaction = 1
    /// Servers recognize this version as an encoder.
    static let flashVersion = "FMLE/3.0 (compatible; FMSc/1.0)"
    /// `capsEx`: the server may ask us to reconnect (Enhanced RTMP v2, "Enhancing NetConnection connect Command").
    private static let reconnects = 1.0

    /// The application; for a login, the login data follows it.
    let app: String
    /// The `tcUrl`; for a login, the login data follows it.
    let target: String

    /// Whether the command announces codecs in the form of Enhanced RTMP.
    var isEnhanced = false

    /// The command in AMF0.
    var bytes: [UInt8] {
        var writer = AMF0Writer()
        writer.write("connect")
        writer.write(Double(Self.transaction))
        var properties: [(String, AMF0Value)] = [
            ("app", .string(app)), ("type", .string("nonprivate")), ("flashVer", .string(Self.flashVersion)),
            ("tcUrl", .string(target)), ("capsEx", .number(Self.reconnects)),
        ]
        if isEnhanced {
            let codes = Codec.allCases.compactMap(\.enhancedFourCC)
            properties.append(("fourCcList", .array(codes.map { .string($0) })))
        }
        writer.writeObject(properties)
        return writer.bytes
    }
}

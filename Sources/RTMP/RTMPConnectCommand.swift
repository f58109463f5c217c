// SPDX-License-Identifier: Apache-2.0

/// The `connect` command (Adobe RTMP 1.0, 7.2.1.1). Our own and not librtmp's, which puts additional properties outside
/// the command object.
struct RTMPConnectCommand {
    /// The command's number.
    static let transaction = 1
    /// Servers take this one for an encoder.
    static let flashVersion = "FMLE/3.0 (compatible; FMSc/1.0)"
    /// `capsEx`: we can be asked to connect anew (Enhanced RTMP v2, "Enhancing NetConnection connect Command").
    private static let reconnects = 1.0

    /// The application, with the login behind it.
    let app: String
    /// The `tcUrl`, with the login behind it.
    let target: String

    /// The command in AMF0.
    var bytes: [UInt8] {
        var writer = AMF0Writer()
        writer.write("connect")
        writer.write(Double(Self.transaction))
        writer.writeObject([
            ("app", .string(app)), ("type", .string("nonprivate")), ("flashVer", .string(Self.flashVersion)),
            ("tcUrl", .string(target)), ("capsEx", .number(Self.reconnects)),
        ])
        return writer.bytes
    }
}

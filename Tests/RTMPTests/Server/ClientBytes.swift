// SPDX-License-Identifier: Apache-2.0

@testable import RTMP

/// The bytes that clients send.
enum ClientBytes {
    /// A message with a full header, in chunks of `chunk` bytes.
    static func message(
        _ type: UInt8, _ body: [UInt8], time: UInt32 = 0, stream: UInt32 = 0, csid: UInt8 = 3, chunk: Int = 128,
        repeatsTime: Bool = true
    ) -> [UInt8] {
        let isExtended = time >= 0xFF_FFFF
        let extended = isExtended ? big(time, 4) : []
        var bytes = [csid] + big(isExtended ? 0xFF_FFFF : time, 3) + big(UInt32(body.count), 3) + [type]
        bytes += big(stream, 4).reversed() + extended
        for start in stride(from: 0, to: max(body.count, 1), by: chunk) {
            if start > 0 { bytes += [0xC0 | csid] + (repeatsTime ? extended : []) }
            bytes += body[start..<min(start + chunk, body.count)]
        }
        return bytes
    }

    /// A message whose header has only a time difference.
    static func later(
        _ type: UInt8, _ body: [UInt8], by delta: UInt32, csid: UInt8 = 3, chunk: Int = 128
    ) -> [UInt8] {
        precondition(body.count <= chunk)
        let isExtended = delta >= 0xFF_FFFF
        return [0x40 | csid] + big(isExtended ? 0xFF_FFFF : delta, 3) + big(UInt32(body.count), 3) + [type]
            + (isExtended ? big(delta, 4) : []) + body
    }

    static func big(_ value: UInt32, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * (count - 1 - $0))) }
    }

    static func chunkSize(_ size: UInt32) -> [UInt8] { message(1, big(size, 4), csid: 2) }

    /// A handshake without digests: C0, C1 and C2.
    static let handshake: [UInt8] = [3] + [UInt8](repeating: 0, count: 2 * 1536)

    static func command(
        _ name: String, _ transaction: Double, _ arguments: [AMF0Value], stream: UInt32 = 0, type: UInt8 = 20,
        chunk: Int = 128
    ) -> [UInt8] {
        var writer = AMF0Writer()
        writer.write(name)
        writer.write(transaction)
        var body = (type == 17 ? [0] : []) + writer.bytes
        for argument in arguments { body += amf(argument) }
        return message(type, body, stream: stream, chunk: chunk)
    }

    static func amf(_ value: AMF0Value) -> [UInt8] {
        var writer = AMF0Writer()
        writer.write(value)
        return writer.bytes
    }

    static func connect(_ app: String = "live", adding properties: [String: AMF0Value] = [:]) -> [UInt8] {
        let usual: [String: AMF0Value] = [
            "app": .string(app), "flashVer": .string("test"), "tcUrl": .string("rtmp://h"),
        ]
        return command("connect", 1, [.object(usual.merging(properties, uniquingKeysWith: { $1 }))])
    }

    /// All bytes of a client up to its request to publish `key`, as FFmpeg writes them.
    static func publishing(_ key: String, app: String = "live") -> [UInt8] {
        handshake + connect(app) + chunkSize(4096) + command("releaseStream", 2, [.null, .string(key)], chunk: 4096)
            + command("FCPublish", 3, [.null, .string(key)], chunk: 4096)
            + command("createStream", 4, [.null], chunk: 4096)
            + command("publish", 5, [.null, .string(key), .string("live")], stream: 1, chunk: 4096)
    }

    /// All bytes of a client up to its request to play `name`.
    static func playing(_ name: String, app: String = "live") -> [UInt8] {
        handshake + connect(app) + command("createStream", 2, [.null])
            + command("play", 3, [.null, .string(name), .number(-2000)], stream: 1)
    }
}

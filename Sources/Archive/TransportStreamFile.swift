// SPDX-License-Identifier: Apache-2.0

internal import MP4

/// Looks at transport streams that a crash left open.
package enum TransportStreamFile {
    /// Bytes of a packet (ISO/IEC 13818-1, 2.4.3.2).
    private static let packetSize: Int64 = 188
    private static let syncByte: UInt8 = 0x47
    /// What the stream's service description calls its maker (ETSI EN 300 468, 6.2.33).
    package static let provider = "relay"
    private static let block = 4096
    /// Bytes that tell whose stream it is.
    static let headSize = 4 * Int(packetSize)

    /// Whether a stream that begins with `head` names this program as its provider: the tables come first.
    static func isOurs(_ head: [UInt8]) -> Bool {
        guard head.count == headSize,
            stride(from: 0, to: head.count, by: Int(packetSize)).allSatisfy({ head[$0] == syncByte })
        else { return false }
        let provider = Array(provider.utf8)
        return !BoxReader.positions(of: [UInt8(provider.count)] + provider, in: head).isEmpty
    }

    /// Where the last whole packet of `file` ends. A loss of power can leave zeros at the end; a packet begins with a
    /// byte that is none.
    static func end(of file: any ByteSource, size: Int64) throws -> Int64 {
        var packets = size / packetSize
        while packets > 0 {
            let count = min(packets, Int64(block))
            let first = packets - count
            let bytes = try file.read(at: first * packetSize, count: Int(count * packetSize))
            let last = stride(from: bytes.count - Int(packetSize), through: 0, by: -Int(packetSize))
                .first { bytes[$0] == syncByte }
            if let last { return first * packetSize + Int64(last) + packetSize }
            packets = first
        }
        return 0
    }
}

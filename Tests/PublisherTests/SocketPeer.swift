// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import RTMP

/// The other end of an RTMP socket, which parses the bytes that it receives into messages.
class SocketPeer {
    let descriptor: CInt
    private var parser = RTMPInboundParser(chunkBytes: RTMPChunkWriter.chunkBytes)
    private(set) var messages: [RTMPInboundParser.Message] = []

    init(_ descriptor: CInt) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Reads the available bytes.
    func read() throws {
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        while case let count = recv(descriptor, &bytes, bytes.count, CInt(MSG_DONTWAIT)), count > 0 {
            messages += try parser.parse(bytes[..<count])
        }
    }

    /// Sends a message of at most 128 bytes on chunk stream 2 or 3.
    func say(_ type: UInt8, _ body: [UInt8]) {
        let bytes = [type == 20 ? 3 : 2, 0, 0, 0, 0, 0, UInt8(body.count), type, 0, 0, 0, 0] + body
        #expect(send(descriptor, bytes, bytes.count, CInt(MSG_NOSIGNAL)) == bytes.count)
    }
}

// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import RTMP

@Suite("The RTMP handshake of a server")
struct RTMPServerHandshakeTests {
    private static let clientKey = Array("Genuine Adobe Flash Player 001".utf8)
    private static let serverKey = Array("Genuine Adobe Flash Media Server 001".utf8)
    private static let common: [UInt8] = [
        0xF0, 0xEE, 0xC2, 0x4A, 0x80, 0x68, 0xBE, 0xE8, 0x2E, 0x00, 0xD0, 0xD1, 0x02, 0x9E, 0x7E, 0x57,
        0x6E, 0xEC, 0x5D, 0x2D, 0x29, 0x80, 0x6F, 0xAB, 0x93, 0xB8, 0xE6, 0x36, 0xCF, 0xEB, 0x31, 0xAE,
    ]

    private func answer(_ pieces: [ArraySlice<UInt8>], _ handshake: inout RTMPServerHandshake) throws -> [UInt8] {
        var answer: [UInt8] = []
        for piece in pieces {
            let bytes = Array(piece)
            var cursor = 0
            answer += try handshake.take(bytes.span, at: &cursor)
            #expect(cursor == bytes.count || handshake.isDone)
        }
        return answer
    }

    private func without(_ place: Range<Int>, _ bytes: ArraySlice<UInt8>) -> [UInt8] {
        let bytes = Array(bytes)
        return Array(bytes[..<place.lowerBound] + bytes[place.upperBound...])
    }

    @Test("A server answers a handshake without digests with the client's packet, wherever the bytes are split")
    func simple() throws {
        let bytes = [3] + (0..<3072).map { UInt8(truncatingIfNeeded: $0 < 8 ? 0 : $0 &* 7) }
        for split in [0, 1, 2, 700, 1536, 1537, 1538, 3000, 3072, 3073] {
            var handshake = RTMPServerHandshake()
            let answer = try answer([bytes[..<split], bytes[split...]], &handshake)
            #expect(handshake.isDone)
            #expect(answer.count == 3073 && answer[0] == 3)
            #expect(Array(answer[1537...]) == Array(bytes[1..<1537]))
        }
    }

    @Test("A client's handshake that has a version number but no digest is answered without a digest")
    func versionOnly() throws {
        let first = [0, 0, 0, 0, 9, 0, 124, 2] + [UInt8](repeating: 5, count: 1528)
        var handshake = RTMPServerHandshake()
        let answer = try answer([[3] + first[...]], &handshake)
        #expect(Array(answer[1537...]) == first)
    }

    @Test(
        "A client's digest at either position is answered by a digest that the client can verify", arguments: [8, 772])
    func digests(schema: Int) throws {
        var generator = SeededRandom()
        let place = try #require(RTMPServerHandshake.Schema(rawValue: schema))
        var first = (0..<1536).map { _ in UInt8.random(in: 0...255, using: &generator) }
        first.replaceSubrange(0..<8, with: [0, 0, 0, 0, 10, 0, 45, 2])
        let own = place.place(in: first)
        let digest = try #require(HMACSHA256.code(of: without(own, first[...]), key: Self.clientKey))
        first.replaceSubrange(own, with: digest)
        var handshake = RTMPServerHandshake()
        let answer = try answer([[3] + first[...]], &handshake)
        try #require(answer.count == 3073)
        let server = Array(answer[1..<1537])
        let theirs = place.place(in: server)
        #expect(Array(server[theirs]) == HMACSHA256.code(of: without(theirs, server[...]), key: Self.serverKey))
        let key = try #require(HMACSHA256.code(of: digest, key: Self.serverKey + Self.common))
        #expect(Array(answer[3041...]) == HMACSHA256.code(of: answer[1537..<3041], key: key))
    }

    @Test("The HMAC-SHA256 of the handshake matches RFC 4231, test cases 2 and 6 (a key longer than a block)")
    func codes() {
        let short = HMACSHA256.code(of: Array("what do ya want for nothing?".utf8), key: Array("Jefe".utf8))
        #expect(short?.prefix(4) == [0x5B, 0xDC, 0xC1, 0x46])
        let text = Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8)
        let long = HMACSHA256.code(of: text, key: [UInt8](repeating: 0xAA, count: 131))
        #expect(long?.prefix(4) == [0x60, 0xE4, 0x31, 0x59])
    }

    @Test("A client that does not speak RTMP is refused at its first byte", arguments: [6, 0x16, 0x47] as [UInt8])
    func otherProtocols(first: UInt8) {
        var handshake = RTMPServerHandshake()
        #expect(throws: RTMPServerHandshake.Malformed.self) { _ = try answer([[first]], &handshake) }
    }
}

// SPDX-License-Identifier: Apache-2.0

internal import LibAV

/// The server's side of the handshake (Adobe RTMP 1.0, 5.2), including the variant with digests that some clients
/// require and verify. It does no I/O: it gets the received bytes, and returns the bytes to send.
struct RTMPServerHandshake {
    /// The client does not speak RTMP: the reason in a few words.
    struct Malformed: Error, Equatable {
        let reason: String
    }

    private enum Phase { case version, first, second, done }

    /// The size of C1, C2, S1 and S2, in bytes.
    static let packetBytes = 1536
    private static let plainVersion: UInt8 = 3
    private static let digestBytes = SHA256.digestBytes

    private var phase = Phase.version
    private var packet: [UInt8] = []
    /// The source of the handshake's random bytes.
    private var generator: any RandomNumberGenerator

    init(generator: any RandomNumberGenerator = SystemRandomNumberGenerator()) { self.generator = generator }

    /// Whether the handshake is complete.
    var isDone: Bool { phase == .done }

    /// Processes the handshake's part of `bytes` from `cursor` on, and moves `cursor` past it. Returns the bytes to
    /// send.
    mutating func take(_ bytes: Span<UInt8>, at cursor: inout Int) throws(Malformed) -> [UInt8] {
        var answer: [UInt8] = []
        while phase != .done, cursor < bytes.count {
            if phase == .version {
                guard bytes[cursor] == Self.plainVersion else { throw Malformed(reason: "it does not speak RTMP") }
                cursor += 1
                phase = .first
                continue
            }
            let count = min(Self.packetBytes - packet.count, bytes.count - cursor)
            bytes.extracting(cursor..<cursor + count).withUnsafeBufferPointer { packet.append(contentsOf: $0) }
            cursor += count
            guard packet.count == Self.packetBytes else { break }
            if phase == .first {
                answer = [Self.plainVersion] + reply(to: packet)
                phase = .second
            } else {
                // C2 is not checked. It should be equal to S1, but clients send arbitrary bytes.
                phase = .done
            }
            packet = []
        }
        return answer
    }

    /// Returns S1 and S2. `first` is the client's C1.
    private mutating func reply(to first: [UInt8]) -> [UInt8] {
        // A client whose version is not 0 can have included a digest in C1. Such a client also verifies the digests of
        // the server.
        if first[4..<8].contains(where: { $0 != 0 }) {
            for schema in Schema.allCases {
                if let digest = schema.digest(in: first), let answer = reply(to: digest, schema) { return answer }
            }
        }
        var answer = random(Self.packetBytes)
        answer.replaceSubrange(0..<8, with: [UInt8](repeating: 0, count: 8))
        return answer + first
    }

    private mutating func reply(to digest: [UInt8], _ schema: Schema) -> [UInt8]? {
        var first = random(Self.packetBytes)
        // S1 begins with the time 0 and the version of a server that supports digests.
        first.replaceSubrange(0..<8, with: [0, 0, 0, 0, 4, 5, 0, 1])
        let place = schema.place(in: first)
        guard let own = HMACSHA256.code(of: first[..<place.lowerBound] + first[place.upperBound...], key: Key.server)
        else { return nil }
        first.replaceSubrange(place, with: own)
        let filler = random(Self.packetBytes - Self.digestBytes)
        guard let key = HMACSHA256.code(of: digest, key: Key.server + Key.common),
            let proof = HMACSHA256.code(of: filler, key: key)
        else { return nil }
        return first + filler + proof
    }

    /// Returns random bytes. `count` is a multiple of eight, because the generator makes eight bytes with each system
    /// call.
    private mutating func random(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        while bytes.count < count { withUnsafeBytes(of: generator.next()) { bytes.append(contentsOf: $0) } }
        return bytes
    }
}

extension RTMPServerHandshake {
    /// The keys have been public since 2009: they prove only that both sides know this handshake.
    private enum Key {
        static let client = Array("Genuine Adobe Flash Player 001".utf8)
        static let server = Array("Genuine Adobe Flash Media Server 001".utf8)
        static let common: [UInt8] = [
            0xF0, 0xEE, 0xC2, 0x4A, 0x80, 0x68, 0xBE, 0xE8, 0x2E, 0x00, 0xD0, 0xD1, 0x02, 0x9E, 0x7E, 0x57,
            0x6E, 0xEC, 0x5D, 0x2D, 0x29, 0x80, 0x6F, 0xAB, 0x93, 0xB8, 0xE6, 0x36, 0xCF, 0xEB, 0x31, 0xAE,
        ]
    }

    /// Where the digest is in a packet. It follows a field of four bytes; its distance from that field is the sum of
    /// the four bytes, modulo 728.
    enum Schema: Int, CaseIterable {
        case behindVersion = 8
        case behindKey = 772

        /// The digest's position in C1 or S1.
        func place(in packet: [UInt8]) -> Range<Int> {
            let sum = packet[rawValue..<rawValue + 4].reduce(0) { $0 + Int($1) }
            let start = rawValue + 4 + sum % 728
            return start..<start + digestBytes
        }

        /// The client's digest in C1, if it is valid at the position of this schema.
        func digest(in first: [UInt8]) -> [UInt8]? {
            let place = place(in: first)
            let digest = Array(first[place])
            let expected = HMACSHA256.code(of: first[..<place.lowerBound] + first[place.upperBound...], key: Key.client)
            return expected == digest ? digest : nil
        }
    }
}

/// HMAC (RFC 2104) with SHA-256.
enum HMACSHA256 {
    private static let blockBytes = 64

    /// The authentication code of `bytes`; nil if memory is exhausted. `key` has any length.
    static func code(of bytes: some Collection<UInt8>, key: [UInt8]) -> [UInt8]? {
        guard let short = key.count > blockBytes ? digest(key) : key else { return nil }
        let block = short + [UInt8](repeating: 0, count: blockBytes - short.count)
        guard let inner = digest(block.map { $0 ^ 0x36 } + bytes) else { return nil }
        return digest(block.map { $0 ^ 0x5C } + inner)
    }

    private static func digest(_ bytes: [UInt8]) -> [UInt8]? {
        guard let hash = SHA256() else { return nil }
        bytes.withUnsafeBytes { hash.update($0) }
        return hash.finish()
    }
}

// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import Media
import Testing

@testable import Networking

@Suite("Files that are sent to many sockets")
struct SharedFileTests {
    /// A socket and the descriptor of its peer.
    private func pair() throws -> (TCPSocket, peer: CInt) {
        var ends: [CInt] = [0, 0]
        try #require(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends) == 0)
        let socket = TCPSocket(owning: ends[0])
        socket.setNonBlocking()
        return (socket, ends[1])
    }

    private func read(_ peer: CInt, upTo count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { memory, used in
            used = max(0, recv(peer, memory.baseAddress, count, CInt(MSG_DONTWAIT)))
        }
    }

    @Test("A slow receiver gets every byte once and in order, from files and from memory, while sockets are full")
    func slowReader() throws {
        let (socket, peer) = try pair()
        defer { close(peer) }
        let file = try #require(SharedFile())
        var buffer = OutboundBuffer()
        var expected: [UInt8] = []
        for index in 0..<12 {
            let bytes = SharedBytes((0..<70_001).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ index) })
            let isInMemory = index % 3 == 2
            let place = isInMemory ? nil : file.append(bytes)
            #expect((place == nil) == isInMemory)
            buffer.append(bytes, endsFrame: true, place: place)
            expected += bytes.array
        }
        var (received, frames, waits) = ([UInt8](), 0, 0)
        while !buffer.isEmpty {
            switch socket.send(buffer) {
            case .bytes(let count): frames += buffer.consume(count)
            case .wouldBlock:
                waits += 1
                received += read(peer, upTo: 50_000)
            case let other: Issue.record("\(other)")
            }
            if waits > 1000 { break }
        }
        while case let rest = read(peer, upTo: 50_000), !rest.isEmpty { received += rest }
        #expect(received == expected)
        #expect(frames == 12)
        #expect(waits > 0)
    }

    @Test("Each shared file has its own descriptor, and accepts no more bytes once it is full")
    func whole() throws {
        let bytes = SharedBytes([UInt8](repeating: 7, count: 300_000))
        let places = try (0..<4).map { _ in
            let file = try #require(SharedFile())
            return try #require(file.append(bytes))
        }
        #expect(Set(places.map(\.file.descriptor)).count == 4)
        let file = places[0].file
        let starts = (1..<4).map { _ in file.append(bytes)?.start }
        #expect(starts == [300_000, 600_000, 900_000])
        #expect(file.append(bytes) == nil)
    }
}

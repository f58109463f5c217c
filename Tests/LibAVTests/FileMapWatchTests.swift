// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import LibAV

@Suite("Changes of the program map in a file")
struct FileMapWatchTests {
    private typealias Stream = PacketWriter.Stream

    private static let association = PacketWriter.packet(PacketWriter.association, pid: 0)
    private static let first = map(video: 0x1B)
    private static let other = map(video: 0x24)

    private static func map(video: UInt8) -> [UInt8] {
        PacketWriter.packet(
            PacketWriter.map(of: [Stream(type: video, pid: 256), Stream(type: 0x0F, pid: 257)]), pid: 0x1000)
    }

    private let directory: TemporaryDirectory
    private var path: String { directory.path("file.ts") }
    /// Two maps, a long way apart, and far behind them a map with another coding.
    private let parts = [
        Self.association + Self.first + PacketWriter.filling(300), Self.first + PacketWriter.filling(300),
        Self.other + PacketWriter.filling(50),
    ]
    /// The offset of the map with the other coding.
    private var place: Int { parts[0].count + parts[1].count }
    private var whole: [UInt8] { parts.flatMap { $0 } }

    init() throws { directory = try TemporaryDirectory() }

    private func change(_ range: Range<Int>, following followed: Set<Int>? = nil) -> FileMapWatch.Change? {
        FileMapWatch.change(in: path, Int64(range.lowerBound)..<Int64(range.upperBound), following: followed)
    }

    private func expected(_ junk: Int = 0) -> FileMapWatch.Change {
        FileMapWatch.Change(offset: Int64(junk + place + 188), tables: Self.association + Self.other)
    }

    @Test("A map with another coding is found in the bytes that were read, with the tables for the next demuxer")
    func found() throws {
        try directory.write(whole, to: "file.ts")
        #expect(change(0..<whole.count) == expected())
        #expect(change(place..<place + 188) == expected())
        #expect(change(place - 1000..<whole.count, following: [256]) == expected())
    }

    @Test("Nothing is found before the map, in streams that are not followed, or without a file")
    func notFound() throws {
        try directory.write(whole, to: "file.ts")
        #expect(change(0..<place) == nil)
        #expect(change(0..<place + 187) == nil)
        #expect(change(0..<whole.count, following: [257]) == nil)
        #expect(FileMapWatch.change(in: directory.path("none.ts"), 0..<1000, following: nil) == nil)
    }

    @Test("Bytes that belong to no packet are skipped", arguments: [1, 50, 187, 1000])
    func junk(count: Int) throws {
        let bytes = [UInt8](repeating: 0x55, count: count)
        try directory.write(bytes + whole, to: "file.ts")
        #expect(change(0..<count + whole.count) == expected(count))
    }

    @Test("After a seek the next map decides: if it has the known coding, there is no change")
    func sought() throws {
        try directory.write(whole, to: "file.ts")
        func change(behind place: Int) -> FileMapWatch.Change? {
            FileMapWatch.change(in: path, behind: Int64(place), following: [256, 257])
        }
        #expect(change(behind: parts[0].count - 188) == nil)
        #expect(change(behind: parts[0].count + 188) == expected())
        #expect(change(behind: place) == expected())
        #expect(change(behind: place + 188) == nil)
    }
}

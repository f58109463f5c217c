// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import LibAV

@Suite("Watch of a transport stream's program maps")
struct ProgramMapWatchTests {
    private typealias Stream = PacketWriter.Stream

    private static let association = PacketWriter.packet(PacketWriter.association, pid: 0)
    /// H.264 in PID 256 and AAC in PID 257, then the same with HEVC.
    private static let (first, other) = (map(0x1B, 0x0F), map(0x24, 0x0F))

    private static func map(_ video: UInt8, _ audio: UInt8, in pids: (Int, Int) = (256, 257)) -> [UInt8] {
        map([Stream(type: video, pid: pids.0), Stream(type: audio, pid: pids.1)])
    }

    private static func map(_ streams: [Stream], version: UInt8 = 0) -> [UInt8] {
        PacketWriter.packet(PacketWriter.map(of: streams, version: version), pid: 0x1000)
    }

    /// Lets `watch` read these packets. Returns the numbers of those that report a change.
    private func changes(_ packets: [[UInt8]], in watch: inout ProgramMapWatch) -> [Int] {
        packets.indices.filter { index in packets[index].withUnsafeBytes { watch.read($0) } }
    }

    /// A watch that has read the association and `count` maps.
    private func watch(_ count: Int, of map: [UInt8] = Self.first, isFile: Bool = false) -> ProgramMapWatch {
        var watch = ProgramMapWatch(isFile: isFile)
        #expect(changes([Self.association] + Array(repeating: map, count: count), in: &watch).isEmpty)
        return watch
    }

    @Test("After five maps with one coding, a single map with another coding is a change")
    func known() {
        var watch = watch(5)
        #expect(changes([Self.other, Self.other, Self.first], in: &watch) == [0])
    }

    @Test("After fewer maps with one coding, only ten maps in a row with another coding are a change")
    func surprising() {
        var early = watch(4)
        #expect(changes(Array(repeating: Self.other, count: 30), in: &early) == [9])
        var interrupted = watch(4)
        let nine = Array(repeating: Self.other, count: 9)
        #expect(changes(nine + [Self.first] + nine, in: &interrupted).isEmpty)
    }

    @Test("If the maps of two senders alternate, nothing changes")
    func alternating() {
        var watch = watch(1)
        #expect(changes((0..<50).flatMap { _ in [Self.other, Self.first] }, in: &watch).isEmpty)
    }

    @Test("A map of the next version with another coding is a change, however few maps had the coding before")
    func versions() {
        func map(_ type: UInt8, _ version: UInt8) -> [UInt8] {
            Self.map([Stream(type: type, pid: 256)], version: version)
        }
        var watch = watch(1, of: map(0x1B, 30))
        #expect(changes([map(0x24, 31), map(0x24, 31), map(0x1B, 0), map(0x24, 1)], in: &watch) == [0, 2, 3])
        // The maps of two senders whose versions happen to follow each other.
        var two = self.watch(1, of: map(0x1B, 3))
        #expect(changes((0..<50).flatMap { _ in [map(0x24, 4), map(0x1B, 3)] }, in: &two) == [0])
    }

    @Test("A single map of a file with another coding is a change, and so is a map with another PID")
    func file() {
        var coding = watch(1, isFile: true)
        #expect(changes([Self.other], in: &coding) == [0])
        var pid = watch(1, isFile: true)
        #expect(changes([Self.map(0x1B, 0x0F, in: (300, 257))], in: &pid) == [0])
        // In a live stream, libavformat reports the stream with the new PID.
        var live = watch(5)
        #expect(changes([Self.map(0x1B, 0x0F, in: (300, 257))], in: &live).isEmpty)
        var added = watch(1, isFile: true)
        let streams = [Stream(type: 0x1B, pid: 256), Stream(type: 0x0F, pid: 257), Stream(type: 0x0F, pid: 258)]
        #expect(changes([Self.map(streams)], in: &added).isEmpty)
    }

    @Test("Only changes of the followed PIDs are reported")
    func followed() {
        for (pids, isReported) in [([257], false), ([256], true), ([256, 257], true), ([], false)] as [(Set<Int>, Bool)]
        {
            for isFile in [false, true] {
                var watch = watch(5, isFile: isFile)
                watch.followed = pids
                #expect(changes([Self.other], in: &watch).isEmpty != isReported, "\(pids)")
            }
        }
        var moved = watch(1, isFile: true)
        moved.followed = [257]
        #expect(changes([Self.map(0x1B, 0x0F, in: (300, 257))], in: &moved).isEmpty)
    }

    @Test("For private data another format descriptor is a change of coding, and another language is not")
    func privateData() {
        func map(_ descriptors: [UInt8]) -> [UInt8] {
            Self.map([Stream(type: 6, pid: 256, descriptors: descriptors)])
        }
        let opus: [UInt8] = [0x05, 4] + Array("Opus".utf8)
        let others: [(descriptors: [UInt8], isChange: Bool)] = [
            (opus + [0x0A, 4, 0x65, 0x6E, 0x67, 0], false), ([0x05, 4] + Array("AC-3".utf8), true),
            ([0x6A, 1, 0], true),
            ([], true), (opus + [0x7F, 2, 0x80, 2], true), ([0x05, 200] + Array("Opus".utf8), false),
        ]
        for (descriptors, isChange) in others {
            var watch = watch(5, of: map(opus))
            #expect(changes([map(descriptors)], in: &watch).isEmpty != isChange, "\(descriptors)")
        }
    }

    @Test("A demuxer that begins within the stream gets the newest tables first; a damaged map is ignored")
    func head() {
        var watch = watch(5)
        #expect(watch.head == Self.association + Self.first && watch.listedPIDs == [256, 257])
        var random = SeededRandom()
        for _ in 0..<200 {
            var damaged = Self.other
            // The flipped bit is in the section; its end is the checksum.
            let place = Int.random(
                in: 5..<5 + PacketWriter.map(of: [.init(type: 0, pid: 0), .init(type: 0, pid: 0)]).count)
            damaged[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            #expect(changes([damaged], in: &watch).isEmpty, "byte \(place)")
        }
        #expect(watch.head == Self.association + Self.first)
        #expect(changes([Self.other], in: &watch) == [0])
        #expect(watch.head == Self.association + Self.other)
    }

    @Test("A map in several packets is complete with its last packet, and is ignored if a packet is missing")
    func severalPackets() throws {
        let streams = (0..<60).map { Stream(type: 0x0F, pid: 256 + $0) }
        var changed = streams
        changed[59].type = 0x81
        var random = SeededRandom()
        func packets(_ streams: [Stream]) -> [[UInt8]] {
            PacketWriter.packets(PacketWriter.map(of: streams), pid: 0x1000, using: &random)
        }
        var watch = watch(0)
        for _ in 0..<5 { #expect(changes(packets(streams), in: &watch).isEmpty) }
        var torn = packets(changed)
        try #require(torn.count > 1)
        torn.remove(at: torn.count - 2)
        #expect(changes(torn, in: &watch).isEmpty)
        let whole = packets(changed)
        #expect(changes(whole, in: &watch) == [whole.count - 1])
        #expect(watch.head == Self.association + whole.flatMap { $0 })
    }

    @Test("A map with the known coding of a followed stream confirms it, and a map with other codings does not")
    func confirmation() {
        var watch = watch(1, isFile: true)
        watch.followed = [256]
        watch.awaitConfirmation()
        _ = changes([Self.other], in: &watch)
        #expect(!watch.hasConfirmed)
        _ = changes([Self.other], in: &watch)
        #expect(watch.hasConfirmed)
        watch.awaitConfirmation()
        #expect(!watch.hasConfirmed)
    }
}

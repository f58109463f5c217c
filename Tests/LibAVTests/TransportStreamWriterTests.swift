// SPDX-License-Identifier: Apache-2.0

import Media
import PacketSamples
import TestSupport
import Testing

@testable import LibAV

@Suite("Writing of transport streams")
struct TransportStreamWriterTests {
    /// 10 s in ticks of 90 kHz, so that no clock reference is below 0.
    private static let shift: Int64 = 900_000
    /// How much later than the packets' times the times in the stream are, in ticks of 90 kHz.
    private static let added: Int64 = 9000
    private static let (clockPID, audioPID, mapPID) = (0x100, 0x101, 0x1000)

    private let clip: CodedClip

    init() throws {
        let directory = try TemporaryDirectory()
        clip = try CodedClip(video: "libx264", audio: "aac", options: ["-bf", "2"], in: directory.path)
    }

    private func writer() throws -> TransportStreamWriter {
        try TransportStreamWriter(.init(service: "Test", provider: "relay"), description: clip.description)
    }

    private func write(_ packets: [EncodedPacket], to writer: TransportStreamWriter) throws -> [TransportPacket] {
        try packets.flatMap { try parsed(try writer.write($0, shift: Self.shift).flatMap { $0 }) }
    }

    private func parsed(_ bytes: [UInt8]) throws -> [TransportPacket] {
        #expect(bytes.count.isMultiple(of: TransportPacket.size))
        return try stride(from: 0, to: bytes.count, by: TransportPacket.size).map {
            try #require(TransportPacket(bytes[$0...]))
        }
    }

    private func ticks(_ packet: EncodedPacket, _ time: Int64) -> Int64 {
        packet.timeBase.rescale(time, to: .mpegTS) + Self.shift + Self.added
    }

    @Test("Each frame is in the stream once, with its times")
    func times() throws {
        let stream = try write(clip.packets, to: try writer())
        for (kind, pid) in [(TrackKind.video, Self.clockPID), (.audio, Self.audioPID)] {
            let (sent, read) = (
                clip.packets.filter { $0.track == kind }, stream.filter { $0.pid == pid }.compactMap(\.times)
            )
            #expect(read.map(\.presentation) == sent.map { ticks($0, $0.pts) }, "\(kind)")
            #expect(read.map(\.decoding) == sent.map { ticks($0, $0.dts) }, "\(kind)")
        }
        #expect(stream.filter { $0.pid == Self.clockPID && $0.isRandomAccess }.count == 2)
    }

    @Test("The packets of each PID are numbered without a gap; packets without payload repeat the number")
    func continuity() throws {
        var numbers: [Int: Int] = [:]
        for packet in try write(clip.packets, to: try writer()) {
            defer { numbers[packet.pid] = packet.continuity }
            guard let last = numbers[packet.pid] else { continue }
            #expect(packet.continuity == (packet.payload == nil ? last : (last + 1) % 16), "PID \(packet.pid)")
        }
        #expect(numbers.keys.contains(0) && numbers.keys.contains(Self.mapPID))
    }

    @Test("The clock goes forward in steps of at most 40 ms, and each frame comes before the clock reaches its time")
    func clock() throws {
        var clock: Int64?
        for packet in try write(clip.packets, to: try writer()) {
            if let next = packet.clock {
                #expect(packet.pid == Self.clockPID)
                if let clock { #expect(next > clock && next - clock <= 3600 * 300, "\(next - clock)") }
                clock = next
            }
            if let times = packet.times, let clock { #expect(times.decoding * 300 > clock) }
        }
        #expect(clock != nil)
    }

    @Test("The tables come first, within 100 ms of each other, and directly before a keyframe")
    func tables() throws {
        let stream = try write(clip.packets, to: try writer())
        let tables = stream.filter { $0.pid == 0 || $0.pid == Self.mapPID }
        #expect(tables.count > 30)
        #expect(tables.enumerated().allSatisfy { $1.pid == ($0.isMultiple(of: 2) ? 0 : Self.mapPID) })
        let begin = try #require(stream.firstIndex { $0.pid == Self.clockPID || $0.pid == Self.audioPID })
        #expect(stream[..<begin].contains { $0.pid == 0 } && stream[..<begin].contains { $0.pid == Self.mapPID })
        let keyframe = try #require(stream.lastIndex { $0.pid == Self.clockPID && $0.isRandomAccess })
        #expect(stream[(keyframe - 2)..<keyframe].map(\.pid) == [0, Self.mapPID])
        var (clock, last): (Int64?, Int64?) = (nil, nil)
        for packet in stream {
            clock = packet.clock ?? clock
            guard packet.pid == 0, let clock else { continue }
            if let last { #expect(clock - last <= 9000 * 300) }
            last = clock
        }
    }

    /// The version of a program map, and its streams.
    private func map(_ packet: TransportPacket) throws -> (version: Int, pids: [Int]) {
        // The section begins after the pointer field, which is 0.
        let section = Array(try #require(packet.payload).dropFirst())
        let end = 3 + (Int(section[1] & 0x0F) << 8 | Int(section[2])) - 4
        var (place, pids) = (12 + (Int(section[10] & 0x0F) << 8 | Int(section[11])), [Int]())
        while place + 5 <= end {
            pids.append(Int(section[place + 1] & 0x1F) << 8 | Int(section[place + 2]))
            place += 5 + (Int(section[place + 3] & 0x0F) << 8 | Int(section[place + 4]))
        }
        return (Int(section[5] >> 1 & 0x1F), pids)
    }

    @Test("After a change of the tracks the tables have a new version, and the clock continues")
    func recoded() throws {
        let writer = try writer()
        let half = clip.packets.count / 2
        let before = try write(Array(clip.packets[..<half]), to: writer)
        try writer.recode(as: StreamDescription(video: clip.description.video, audio: nil))
        let rest = clip.packets[half...].filter { $0.track == .video }
        let after = try write(Array(rest), to: writer)
        let maps = try (before + after).filter { $0.pid == Self.mapPID }.map(map)
        #expect(maps.first?.version == 0 && maps.first?.pids == [Self.clockPID, Self.audioPID])
        #expect(maps.last?.version == 1 && maps.last?.pids == [Self.clockPID])
        #expect(maps.map(\.version) == maps.map(\.version).sorted())
        let clocks = (before + after).compactMap(\.clock)
        #expect(zip(clocks, clocks.dropFirst()).allSatisfy { $0 < $1 && $1 - $0 <= 90_000 * 300 })
        #expect(after.compactMap(\.times).map(\.decoding) == rest.map { ticks($0, $0.dts) })
    }

    @Test("A stream without tracks has no packets until it gets tracks, and data are not written as frames")
    func withoutTracks() throws {
        let writer = try TransportStreamWriter(.init(service: "", provider: ""), description: StreamDescription())
        let first = try #require(clip.packets.first { $0.track == .video })
        #expect(try writer.write(first, shift: Self.shift).isEmpty)
        try writer.recode(as: clip.description)
        #expect(try writer.write(EncodedPacket(text: "caption", at: .zero), shift: Self.shift).isEmpty)
        let stream = try write([first], to: writer)
        #expect(stream.compactMap(\.times).map(\.decoding) == [ticks(first, first.dts)])
        let maps = try stream.filter { $0.pid == Self.mapPID }.map(map)
        #expect(!maps.isEmpty && maps.allSatisfy { $0.version == 0 })
    }

    @Test("Damaged splice information is not written")
    func damagedSplice() throws {
        let writer = try writer()
        writer.announceSplices()
        #expect(writer.write(splice: [0xFC, 0x30, 0x11], shift: 0).isEmpty)
    }
}

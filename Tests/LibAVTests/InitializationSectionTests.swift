// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import LibAV

@Suite("Initialization sections of fragmented MP4")
struct InitializationSectionTests {
    private static func box(_ type: String, _ content: [UInt8]) -> [UInt8] {
        let size = withUnsafeBytes(of: UInt32(content.count + 8).bigEndian) { Array($0) }
        return size + Array(type.utf8) + content
    }

    /// A section with one track. `time` is the creation time in its headers, in `version` 0 or 1.
    private static func section(
        track: UInt8 = 1, timescale: UInt8 = 90, description: [UInt8] = [1, 2, 3], time: UInt8 = 0, version: UInt8 = 0,
        defaults: UInt8 = 0
    ) -> [UInt8] {
        let times = [UInt8](repeating: time, count: version == 1 ? 16 : 8)
        let head = [version, 0, 0, 0] + times
        let table = box("stbl", box("stsd", description) + box("stts", [0, 0, 0, 0, 0, 0, 0, 0]))
        let media = box("mdia", box("mdhd", head + [0, 0, 0, timescale]) + box("minf", table))
        let trak = box("trak", box("tkhd", head + [0, 0, 0, track]) + media)
        let extends = box("mvex", box("trex", [0, 0, 0, 0, 0, 0, 0, track, defaults]))
        return box("ftyp", Array("iso5".utf8)) + box("moov", box("mvhd", head) + trak + extends)
    }

    @Test(
        "Initialization sections that differ only in their times describe the same coding",
        arguments: [0, 1] as [UInt8])
    func times(version: UInt8) throws {
        let first = try #require(InitializationSection(Self.section(time: 1, version: version)))
        #expect(first == InitializationSection(Self.section(time: 2, version: version)))
    }

    @Test("Initialization sections with another track, time scale, sample description or default differ in coding")
    func differences() throws {
        let first = try #require(InitializationSection(Self.section()))
        let others = [
            Self.section(track: 2), Self.section(timescale: 91), Self.section(description: [1, 2, 4]),
            Self.section(defaults: 1),
        ]
        for other in others {
            let section = try #require(InitializationSection(other))
            #expect(section != first)
        }
    }

    @Test("Bytes without a complete movie box are refused as an initialization section")
    func damaged() {
        let whole = Self.section()
        for count in 0..<whole.count { #expect(InitializationSection(Array(whole.prefix(count))) == nil) }
        #expect(InitializationSection(Self.box("styp", []) + Self.box("moof", [])) == nil)
    }

    @Test("Reading a damaged initialization section never crashes")
    func mutations() {
        var random = SeededRandom()
        for _ in 0..<2000 {
            var bytes = Self.section(version: UInt8.random(in: 0...1, using: &random))
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            if let section = InitializationSection(bytes) { #expect(section == InitializationSection(bytes)) }
        }
    }
}

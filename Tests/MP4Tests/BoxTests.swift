// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import MP4

@Suite struct BoxTests {
    @Test func `Bytes written to MP4 boxes are read back, and truncated boxes are refused`() throws {
        var writer = BoxWriter()
        writer.fullBox("mfhd", version: 1, flags: 0x80_0001) { $0.time(-5, version: 1) }
        for length in 0..<writer.bytes.count {
            #expect(throws: MP4Failure.self) {
                var reader = BoxReader(writer.bytes[..<length])
                _ = try reader.box()
            }
        }
        var reader = BoxReader(writer.bytes[...])
        let box = try reader.box()
        var body = box.body
        let rest = reader.count
        #expect(box.type == "mfhd" && box.whole.count == 20 && rest == 0)
        let head = try body.versionAndFlags()
        #expect(head.version == 1 && head.flags == 0x80_0001)
        let time = try body.time(version: 1)
        #expect(time == -5)
    }

    @Test func `A byte pattern is found at any position, even at the end of the bytes`() {
        let bytes = Array("moofXmoomoof".utf8)
        #expect(BoxReader.positions(of: Array("moof".utf8), in: bytes) == [0, 8])
        #expect(BoxReader.positions(of: Array("moof".utf8), in: [1, 2]).isEmpty)
    }
}

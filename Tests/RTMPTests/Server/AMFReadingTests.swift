// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import RTMP

@Suite("AMF from untrusted peers")
struct AMFReadingTests {
    @Test("AMF3 values within AMF0 are parsed, and so are references to earlier values")
    func escaped() {
        let text: [UInt8] = [0x06, 0x07] + Array("abc".utf8)
        #expect(AMF0Reader.values([0x11] + text + [0x05]) == [.string("abc"), .null])
        #expect(AMF0Reader.values([0x11, 0x04, 0x81, 0x00]) == [.number(128)])
        #expect(AMF0Reader.values([0x11, 0x04, 0xFF, 0xFF, 0xFF, 0xFF]) == [.number(-1)])
        #expect(
            AMF0Reader.values([0x11, 0x09, 0x05, 0x01] + text + [0x06, 0x00]) == [
                .array([.string("abc"), .string("abc")])
            ])
        // A dynamic object without a class and with one property.
        let object: [UInt8] =
            [0x0A, 0x0B, 0x01, 0x07] + Array("app".utf8) + [0x06, 0x09] + Array("live".utf8) + [0x01]
        #expect(AMF0Reader.values([0x11] + object) == [.object(["app": .string("live")])])
    }

    @Test("AMF3 data with invalid references, counts or lengths is refused")
    func lies() {
        let lies: [[UInt8]] = [
            [0x06, 0x00], [0x06, 0x7F, 1], [0x09, 0xFF, 0xFF, 0xFF, 0xFF], [0x0A, 0x01], [0x0A, 0x02], [0x0A, 0x07],
            [0x0A, 0xFF, 0xFF, 0xFF, 0xF3, 0x01], [0x0C, 1], [0x04], [0x05, 1, 2],
        ]
        for lie in lies { #expect(AMF0Reader.values([0x11] + lie) == []) }
    }

    @Test(
        "AMF data that is nested 10 000 levels deep is refused without exhausting the stack",
        arguments: [
            [0x03, 0, 1, 0x61], [0x08, 0, 0, 0, 1, 0, 1, 0x61], [0x0A, 0, 0, 0, 1], [0x11, 0x09, 0x03, 0x01],
        ] as [[UInt8]])
    func deep(level: [UInt8]) {
        let bytes = [[UInt8]](repeating: level, count: 10_000).flatMap { $0 }
        #expect(AMF0Reader.values(bytes) == [])
        let inner = [[UInt8]](repeating: [0x09, 0x03, 0x01], count: 10_000).flatMap { $0 }
        #expect(AMF0Reader.values([0x11] + inner) == [])
    }

    @Test("AMF3 values within AMF0 count toward the same limit of 8 levels")
    func levels() {
        // Arrays of one value: `outer` ones in AMF0, and `inner` ones in AMF3, the last of which has a null.
        func nested(_ outer: Int, _ inner: Int) -> [UInt8] {
            let arrays = repeatElement([0x0A, 0, 0, 0, 1] as [UInt8], count: outer).joined()
            let escaped = repeatElement([0x09, 0x03, 0x01] as [UInt8], count: inner).joined()
            return Array(arrays) + [0x11] + Array(escaped) + [0x01]
        }
        for outer in 0...7 {
            #expect(AMF0Reader.values(nested(outer, 7 - outer)).count == 1)
            #expect(AMF0Reader.values(nested(outer, 8 - outer)).isEmpty)
        }
    }

    @Test("At most 4096 values of an AMF message are read, and a longer array is refused")
    func many() {
        #expect(AMF0Reader.values([UInt8](repeating: 5, count: 5000)).count == 4096)
        #expect(AMF0Reader.values([0x0A, 0, 0, 0x20, 0] + [UInt8](repeating: 5, count: 8192)) == [])
    }

    @Test("Obsolete AMF0 types are parsed or skipped, and the values after them are parsed")
    func oldTypes() {
        #expect(AMF0Reader.values([0x0D, 0x07, 0, 1, 0x01, 1]) == [.null, .null, .boolean(true)])
        let typed: [UInt8] = [0x10, 0, 1, 0x43, 0, 1, 0x61, 0x05, 0, 0, 9]
        #expect(AMF0Reader.values(typed + [0x0F, 0, 0, 0, 1, 0x78]) == [.object(["a": .null]), .string("x")])
    }
}

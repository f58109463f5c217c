// SPDX-License-Identifier: Apache-2.0

import Archive
import Segmenter
import TestSupport
import Testing

@Suite("Held recordings and retention")
struct HoldVetoTests {
    @Test("A held recording, whatever characters its name contains, is not deleted until the hold is released")
    func holds() throws {
        let place = try TemporaryDirectory()
        let directory = try RecordDirectory.prepare(place.path)
        let veto = HoldVeto(directory)
        for name in ["main_20261121T140310.123Z_000001.mp4", "2026/11/100%2F.mp4", "a%25b.mp4"] {
            #expect(veto.mayDelete(name))
            try HoldMark.set(of: name, in: directory)
            try HoldMark.set(of: name, in: directory)
            #expect(!veto.mayDelete(name))
            #expect(try HoldMark.names(in: directory) == [name])
            try HoldMark.remove(of: name, in: directory)
            try HoldMark.remove(of: name, in: directory)
            #expect(veto.mayDelete(name))
        }
    }
}

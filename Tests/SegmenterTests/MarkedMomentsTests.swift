// SPDX-License-Identifier: Apache-2.0

import MP4
import Media
import TestSupport
import Testing

@testable import Segmenter

@Suite("Markers of a recording")
struct MarkedMomentsTests {
    @Test("A marker becomes a chapter of the file that contains its time, and of no other file")
    func chapters() {
        var moments = MarkedMoments()
        moments.add("third", at: 25)
        moments.add("first", at: 10)
        moments.add("second", at: 19)
        #expect(moments.chapters(in: 10..<20) == [.init(start: 0, title: "first"), .init(start: 9, title: "second")])
        #expect(moments.chapters(in: 20..<30) == [.init(start: 5, title: "third")])
        #expect(moments.chapters(in: 0..<100).isEmpty)
    }

    @Test("A marker that arrives late, or falls between two files, becomes a chapter of the next file")
    func late() {
        var moments = MarkedMoments()
        #expect(moments.chapters(in: 10..<20).isEmpty)
        moments.add("in the hole", at: 22)
        moments.add("late", at: 15)
        moments.add("in time", at: 27)
        #expect(
            moments.chapters(in: 25..<35) == [
                .init(start: 0, title: "late"), .init(start: 0, title: "in the hole"),
                .init(start: 2, title: "in time"),
            ])
        #expect(moments.chapters(in: 0..<100).isEmpty)
    }

    @Test("A marker after the end of the last file becomes a chapter at the last frame of that file")
    func end() {
        var moments = MarkedMoments()
        moments.add("inside", at: 27)
        moments.add("behind", at: 36)
        #expect(
            moments.chapters(in: 25..<35, lastFrame: 34) == [
                .init(start: 2, title: "inside"), .init(start: 9, title: "behind"),
            ])
        #expect(moments.chapters(in: 0..<100).isEmpty)
    }

    @Test("If there are too many markers, the newest are kept, and long titles are cut between characters")
    func bounds() {
        var moments = MarkedMoments()
        for index in Int64(0)..<300 { moments.add("\(index)", at: ProgramInstant(nanoseconds: index)) }
        let chapters = moments.chapters(in: 0..<1000)
        #expect(chapters.count == 255 && chapters.first?.title == "45")
        let box = Chapter.box([.init(start: 1_000, title: String(repeating: "é", count: 200))])
        #expect(box.count == 8 + 4 + 4 + 1 + 8 + 1 + 254 && box.suffix(2) == [0xC3, 0xA9])
        #expect(Chapter.box([]).isEmpty)
    }
}

// SPDX-License-Identifier: Apache-2.0

import FrameSamples
import Media
import Testing

@testable import Kernels
@testable import Program

@Suite("Texts of overlays")
struct OverlayTextTests {
    @Test("A clock in an overlay's text is split into its digits")
    func pieces() throws {
        let text = try OverlayText("At {time}!")
        #expect(
            text.pieces == [
                .fixed("At "), .digit(0, of: .time), .digit(1, of: .time), .fixed(":"), .digit(2, of: .time),
                .digit(3, of: .time), .fixed(":"), .digit(4, of: .time), .digit(5, of: .time), .fixed("!"),
            ])
        #expect(try OverlayText("{timecode}").pieces.count == 11)
        #expect(try OverlayText("plain { } text").pieces == [.fixed("plain { } text")])
    }

    @Test("An invalid overlay text is refused; an unknown clock is refused with a list of the possible ones")
    func faults() {
        #expect(throws: OverlayText.Fault.self) { try OverlayText("") }
        #expect(throws: OverlayText.Fault.self) { try OverlayText("  ") }
        #expect(throws: OverlayText.Fault.self) { try OverlayText("a\nb") }
        #expect(throws: OverlayText.Fault.self) { try OverlayText(String(repeating: "a", count: 201)) }
        let unknown = #expect(throws: OverlayText.Fault.self) { try OverlayText("{clock}") }
        #expect(unknown?.description.contains("{time} and") == false)
        #expect(unknown?.description.contains("{timecode} and {time}") == true)
    }

    private func shown(_ clock: OverlayTime.Clock, _ time: OverlayTime) -> String {
        (0..<clock.digits).map { "\(time.digit($0, of: clock))" }.joined()
    }

    @Test("A timecode counts frames at the nominal frame rate, and restarts after a day")
    func time() {
        let rate = FrameRate(30_000, 1001)
        let at = { (frame: Int64) in OverlayTime(of: FrameIndex(frame), at: rate, secondOfDay: 86_399) }
        #expect(shown(.timecode, at(0)) == "00000000" && shown(.timecode, at(29)) == "00000029")
        #expect(shown(.timecode, at(30)) == "00000100" && shown(.timecode, at(30 * 3661 + 7)) == "01010107")
        #expect(shown(.timecode, at(30 * 86_400)) == "00000000")
        #expect(shown(.time, at(0)) == "235959")
    }

    @Test("The digits of an overlay's clock have fixed positions, and only the current digit is drawn at each")
    func art() throws {
        // Each glyph is four columns of a gray that identifies it.
        let art = try OverlayArt(
            try OverlayText("{time}"), x: 0, y: 0, opacity: 1, color: .bt709,
            paint: { (text: String) throws(OverlayText.Fault) in
                let level = text == ":" ? 255 : UInt8((Int(text) ?? 0) * 20)
                return OverlayArt.Glyph(
                    pixels: (0..<16).flatMap { _ in [level, level, level, 255] }, width: 4, height: 4, offset: 0,
                    advance: 4)
            })
        var canvas = FramePool(width: 64, height: 16).canvas()
        canvas.fill(.black)
        let time = OverlayTime(of: 0, at: FrameRate(25), secondOfDay: 12 * 3600 + 34 * 60 + 56)
        art.draw(on: &canvas, at: time, level: 1)
        let frame = PlainFrame(canvas.finish(pts: 0, timeBase: .milliseconds))
        let gray = { (level: Double) in Int((16 + 219 * level / 255).rounded()) }
        let expected = [20, 40, 255, 60, 80, 255, 100, 120].map { gray($0) } + [16]
        let drawn = (0..<9).map { Int(frame.y[$0 * 4 + 1, 1]) }
        #expect(zip(drawn, expected).allSatisfy { abs($0 - $1) <= 1 }, "\(drawn) \(expected)")
        #expect(art.hasClock)
    }
}

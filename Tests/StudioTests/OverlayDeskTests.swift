// SPDX-License-Identifier: Apache-2.0

import Foundation
import Media
import Testing

@testable import Program
@testable import Studio

@Suite("The overlays of a program")
struct OverlayDeskTests {
    private func desk(_ specifications: String...) throws -> OverlayDesk {
        try OverlayDesk(
            specifications.map { try OverlaySpecification($0) },
            format: VideoFormat(width: 320, height: 180, frameRate: FrameRate(25)))
    }

    private func request(_ text: String) throws -> OverlayRequest {
        try JSONDecoder().decode(OverlayRequest.self, from: Data(text.utf8))
    }

    private func text(_ desk: OverlayDesk) -> String? { desk.reports.first?.text }

    @Test("What is refused changes nothing: a text was on air, though too many changes waited already")
    func refused() throws {
        let (desk, stage) = (try desk("title=text:before"), Stage())
        for frame in 0..<Overlay.mostChoices {
            _ = try desk.change("title", try request(#"{"visible":true,"at":\#(frame + 10)}"#), on: stage)
        }
        let failure = #expect(throws: Refusal.self) {
            try desk.change("title", try request(#"{"text":"after","visible":true,"at":500}"#), on: stage)
        }
        #expect(failure?.kind == .tooMany && text(desk) == "before")
        // In place of one that waits there is room.
        #expect(try desk.change("title", try request(#"{"text":"after","visible":true,"at":10}"#), on: stage) == 10)
        #expect(text(desk) == "after")
    }

    @Test("What an operator wrote holds, but where the configuration says something else by now")
    func restored() throws {
        let (before, stage) = (try desk("title=text:A"), Stage())
        _ = try before.change("title", try request(#"{"text":"B","visible":true}"#), on: stage)
        let same = try desk("title=text:A")
        same.restore(before.memory)
        #expect(text(same) == "B" && same.reports.first?.visible == true)
        let other = try desk("title=text:C")
        other.restore(before.memory)
        #expect(text(other) == "C" && other.reports.first?.visible == true)
        let seen = try desk("title=text:A#visible=yes")
        _ = try seen.change("title", try request(#"{"visible":false}"#), on: stage)
        seen.restore(before.memory)
        #expect(text(seen) == "B" && seen.reports.first?.visible == false)
    }
}

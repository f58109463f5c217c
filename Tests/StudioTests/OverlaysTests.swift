// SPDX-License-Identifier: Apache-2.0

import Foundation
import Media
import Testing

@testable import Program
@testable import Studio

@Suite("The overlays of a program")
struct OverlaysTests {
    private func desk(_ specifications: String...) throws -> Overlays {
        try Overlays(
            specifications.map { try OverlaySpecification($0) },
            format: VideoFormat(width: 320, height: 180, frameRate: FrameRate(25)))
    }

    private func request(_ text: String) throws -> OverlayRequest {
        try JSONDecoder().decode(OverlayRequest.self, from: Data(text.utf8))
    }

    private func text(_ desk: Overlays) -> String? { desk.reports.first?.text }

    @Test("A request for an overlay that is refused changes nothing, not even the text")
    func refused() throws {
        let (desk, bus) = (try desk("title=text:before"), Bus())
        for frame in 0..<Overlay.mostChoices {
            _ = try desk.change("title", try request(#"{"visible":true,"at":\#(frame + 10)}"#), on: bus)
        }
        let failure = #expect(throws: Refusal.self) {
            try desk.change("title", try request(#"{"text":"after","visible":true,"at":500}"#), on: bus)
        }
        #expect(failure?.kind == .tooMany && text(desk) == "before")
        // A request that replaces a scheduled one is accepted.
        #expect(try desk.change("title", try request(#"{"text":"after","visible":true,"at":10}"#), on: bus) == 10)
        #expect(text(desk) == "after")
    }

    @Test(
        "An overlay is shown in all scenes with visible=yes, in none with visible=no, and by default as scenes say",
        arguments: [("", Bool?.none), ("#visible=yes", true), ("#visible=no", false)])
    func visibility(options: String, isVisible: Bool?) throws {
        #expect(try OverlaySpecification("title=text:A\(options)").isVisible == isVisible)
        #expect(try desk("title=text:A\(options)").reports.first?.visible == isVisible)
    }

    @Test("When a channel is reopened, an operator's overlay change is kept if the setting's configuration is the same")
    func restored() throws {
        let (before, bus) = (try desk("title=text:A"), Bus())
        _ = try before.change("title", try request(#"{"text":"B","visible":true}"#), on: bus)
        let same = try desk("title=text:A")
        same.restore(before.memory)
        #expect(text(same) == "B" && same.reports.first?.visible == true)
        let other = try desk("title=text:C")
        other.restore(before.memory)
        #expect(text(other) == "C" && other.reports.first?.visible == true)
        let seen = try desk("title=text:A#visible=yes")
        _ = try seen.change("title", try request(#"{"visible":false}"#), on: bus)
        seen.restore(before.memory)
        #expect(text(seen) == "B" && seen.reports.first?.visible == false)
    }
}

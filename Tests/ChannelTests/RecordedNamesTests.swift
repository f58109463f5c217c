// SPDX-License-Identifier: Apache-2.0

import Ingest
import Segmenter
import TestSupport
import Testing

@testable import Channel

@Suite("The names under which a channel records")
struct RecordedNamesTests {
    private func recording(_ sources: [String], of rendition: String? = nil) -> ChannelConfiguration.Recording {
        ChannelConfiguration.Recording(
            directory: "recordings", length: .duration(.seconds(60)), expected: .seconds(60), warning: .seconds(60),
            sources: sources, rendition: rendition)
    }

    @Test("A program is recorded under the channel's name, and each source under the channel's and its own name")
    func recordedNames() {
        var random = SeededRandom()
        for _ in 0..<100 {
            let names = ["a", "b", "cam-1", "x.y"].shuffled(using: &random)
            let recorded = Array(names.prefix(Int.random(in: 0...4, using: &random)))
            var program = ChannelConfiguration()
            program.name = "news"
            program.sources = (0..<5).map { ChannelConfiguration.Source(name: "\($0)", input: InputLocation("test:")) }
            program.recording = recording(recorded)
            #expect(program.recordedNames == ["news"] + recorded.map { "news-\($0)" })
            #expect(program.recordedVideos == (recorded.isEmpty ? 0 : 5))
            #expect(program.recording?.takesPackets == !recorded.isEmpty)
        }
    }

    @Test("A rendition counts as used if it is recorded or if an output publishes it")
    func takenRenditions() throws {
        var program = ChannelConfiguration()
        program.renditions = try ["a", "b", "c"].map { try RenditionSpecification("\($0)#gop=1s") }
        program.outputs = [try OutputSpecification("rtmp://host/live/key#rendition=c")]
        #expect(program.untakenRenditions == ["a", "b"])
        program.recording = recording([], of: "a")
        #expect(program.untakenRenditions == ["b"])
    }
}

// SPDX-License-Identifier: Apache-2.0

import Foundation
import Ingest
import Segmenter
import TestSupport
import Testing

@testable import Channel

@Suite("The names under which a channel records")
struct RecordedNamesTests {
    private func recording(
        _ sources: [String], of rendition: String? = nil, in directory: String = "recordings"
    ) -> ChannelConfiguration.Recording {
        ChannelConfiguration.Recording(
            directory: directory, length: .duration(.seconds(60)), expected: .seconds(60), warning: .seconds(60),
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

    private func channel(
        _ name: String, _ sources: [String] = [], in directory: String, also: String? = nil
    ) -> ChannelConfiguration {
        var channel = ChannelConfiguration()
        channel.name = name
        channel.recording = recording(sources, in: directory)
        channel.recording?.also = also
        return channel
    }

    @Test("Two channels with the same name for files in one directory are found, however its path is written")
    func sameDirectory() throws {
        let temporary = try TemporaryDirectory()
        let (real, link, other) = (temporary.path("real"), temporary.path("link"), temporary.path("other"))
        for path in [real, other] {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        }
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: real)
        let show = channel("show", ["cam1"], in: "\(real)/new", also: other)
        for path in ["\(real)/new", "\(link)/new", "\(other)/../real/./new", "\(link)//new/"] {
            #expect(channel("show-cam1", in: path).nameRecordedTwice(with: show) == "show-cam1", "\(path)")
            #expect(channel("show-cam1", in: other, also: path).nameRecordedTwice(with: show) == "show-cam1", "\(path)")
            #expect(show.nameRecordedTwice(with: channel("show-cam1", in: path)) == "show-cam1", "\(path)")
            #expect(channel("show-cam2", in: path).nameRecordedTwice(with: show) == nil, "\(path)")
        }
        // Only the program is recorded in the second directory.
        for path in [real, link, other, "\(link)/new/below"] {
            #expect(channel("show-cam1", in: path).nameRecordedTwice(with: show) == nil, "\(path)")
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

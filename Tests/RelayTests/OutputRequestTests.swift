// SPDX-License-Identifier: Apache-2.0

import Channel
import Encoder
import FanOut
import Foundation
import Media
import TestSupport
import Testing

@testable import Relay

@Suite("Outputs that a client of the API adds and replaces")
struct OutputRequestTests {
    private let control = ChannelControl(name: "main", recording: nil)

    /// Opens a channel with this output, which never goes on air, and gives it to the API while `work` runs.
    private func withChannel(_ output: String, _ work: (Channel) throws -> Void) throws {
        var configuration = ChannelConfiguration()
        (configuration.size, configuration.frameRate) = (FrameSize(width: 320, height: 180), FrameRate(25))
        configuration.encoder.preset = .ultrafast
        configuration.outputs = [try OutputSpecification(output)]
        let channel = try Channel(configuration, logger: quiet)
        defer {
            // The program ends before its first frame, and the channel closes its ports.
            channel.end()
            _ = channel.run()
        }
        control.opened(channel, by: control.begin())
        try work(channel)
    }

    @Test("The API replaces an output for players by one at the same address, but adds no second one there")
    func sameAddress() throws {
        let address = "rtmp-listen://127.0.0.1:\(try LoopbackSocket.freePort())/live/program"
        try withChannel("\(address)#name=players") { channel in
            let refusal = #expect(throws: Refusal.self) { _ = try control.addOutput(address) }
            #expect(refusal?.kind == .unusable)
            for next in ["\(address)?players=5", address] { try control.replaceOutput("players", by: next) }
            #expect(channel.outputs.statuses.map(\.name) == ["players"])
            #expect(channel.outputs.statuses.map(\.origin) == [.api])
        }
    }

    @Test("The API adds and replaces HLS outputs only in the directories of the configuration")
    func directories() throws {
        let directory = try TemporaryDirectory()
        let (live, other) = (directory.path("live"), directory.path("other"))
        for path in [live, other] {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        }
        try withChannel("hls:\(live)#name=hls") { channel in
            for path in [other, "\(other)/new", directory.path("new")] {
                let added = #expect(throws: Refusal.self) { _ = try control.addOutput("hls:\(path)") }
                let replaced = #expect(throws: Refusal.self) { try control.replaceOutput("hls", by: "hls:\(path)") }
                for refusal in [added, replaced] {
                    #expect(refusal?.detail.contains("is not in a directory of the configuration") == true)
                }
            }
            #expect(channel.outputs.statuses.map(\.address) == ["hls:\(live)"])
            try control.replaceOutput("hls", by: "hls:\(live)/new")
            #expect(try control.addOutput("hls:\(live)") == "hls-1")
        }
        #expect(directory.all == ["live", "other"])
        #expect(try FileManager.default.contentsOfDirectory(atPath: other).isEmpty)
    }
}

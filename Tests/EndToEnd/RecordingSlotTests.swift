// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Control
import Foundation
import Media
import Segmenter
import Status
import TestSupport
import Testing

@testable import Channel
@testable import Relay

extension SerialRecordings {
    /// Recordings that are started and stopped while the channel is on air, by the interface that the API uses.
    @Suite("Recordings that start and stop on air")
    struct RecordingSlotTests {
        private let directory: TemporaryDirectory

        init() throws { directory = try TemporaryDirectory() }

        private var recording: ChannelConfiguration.Recording {
            get throws {
                let flags = ["--record", directory.file("recordings"), "--expect", "1m"]
                return try #require(try RunCommand.parse(flags).channelConfiguration().recording)
            }
        }

        /// Runs a channel with `arguments` and a long GOP while `changes` happen. Returns how the channel ended.
        private func run(
            _ arguments: [String], _ changes: @escaping @Sendable (Channel) async throws -> Void
        ) async throws -> ChannelEnd {
            let configuration = try RunCommand.parse(Shape.small + ["--gop", "10s"] + arguments)
                .channelConfiguration()
            return try await runChannel(configuration) { channel in
                try await changes(channel)
                channel.end()
            }
        }

        private func records(_ channel: Channel, frames: Int) async throws {
            try await eventually("\(frames) frames are recorded", within: .seconds(30)) {
                (channel.status.recorder?.framesWritten ?? 0) >= frames
            }
        }

        @Test("A recording started and stopped twice on air has new files from keyframes on; outputs lose no frame")
        func startedTwice() async throws {
            let server = try await RTMPServer.running()
            let set = RecordingSet(directory: directory.file("recordings"))
            let recording = try recording
            let status = try await run(["--rtmp", server.url()]) { channel in
                try await server.hasReceived(within: .seconds(10))
                #expect(channel.status.recorder == nil)
                for number in 1...2 {
                    try channel.startRecording(recording)
                    #expect(throws: RecordingSlotError.alreadyRecording) { try channel.startRecording(recording) }
                    try await records(channel, frames: 45)
                    try channel.stopRecording()
                    #expect(throws: RecordingSlotError.notRecording) { try channel.stopRecording() }
                    try await eventually("the file is closed", within: .seconds(30)) {
                        set.finished.count == number && set.open.isEmpty
                    }
                    #expect(channel.status.recorder?.state == .stopped)
                }
                try await server.hasReceived(bytes: 500_000, within: .seconds(30))
            }
            #expect(status == .done)
            let sent = try await DecodedFrames(try await server.recording())
            #expect(sent.breaksBeforeEnd.isEmpty)
            var previous: UInt32?
            for path in set.finished {
                #expect(try await Probe.complaints(path).isEmpty)
                let frames = try await DecodedFrames(path)
                let span = try #require(frames.span)
                #expect(frames.counters.count >= 45)
                #expect(DecodedFrames.breaks(in: frames.counters).isEmpty, "\(path)")
                if let previous { #expect(span.lowerBound > previous, "\(path) repeats what was recorded before") }
                #expect(try #require(sent.span).contains(span.lowerBound))
                previous = span.upperBound
            }
        }

        @Test("The recording that begins with the channel is stopped and started again while the channel stays on air")
        func restarted() async throws {
            let server = try await RTMPServer.running()
            let set = RecordingSet(directory: directory.file("recordings"))
            let recording = try recording
            let status = try await run(["--rtmp", server.url(), "--record", set.directory]) { channel in
                try await records(channel, frames: 30)
                try channel.stopRecording()
                try channel.startRecording(recording)
                try await records(channel, frames: 30)
            }
            #expect(status == .done)
            #expect(set.finished.count == 2 && set.open.isEmpty)
            #expect(try await DecodedFrames(try await server.recording()).breaksBeforeEnd.isEmpty)
            for path in set.finished {
                #expect(DecodedFrames.breaks(in: try await DecodedFrames(path).counters).isEmpty, "\(path)")
            }
        }

        @Test("A recording that cannot be set up is refused on air, and a later start succeeds")
        func refused() async throws {
            let recording = try recording
            var wrong = recording
            wrong.directory = "/proc/relay"
            let (refused, set) = (wrong, RecordingSet(directory: recording.directory))
            let status = try await run(["--output", "hls:\(directory.file("hls"))"]) { channel in
                let failure = #expect(throws: ChannelFailure.self) { try channel.startRecording(refused) }
                #expect(failure?.cause == .cannotRecord)
                try channel.startRecording(recording)
                try await records(channel, frames: 30)
            }
            #expect(status == .done)
            #expect(set.finished.count == 1 && set.open.isEmpty)
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

import Archive
import Encoder
import Foundation
import Glibc
import Ingest
import Media
import Segmenter
import Status
import TestSupport
import Testing
import Upload

@testable import Channel

/// Uploads to a remote that cannot be reached when a channel begins. Each question about the remote can delay the stream
/// by its time limit.
@Suite("A remote that does not answer, for a channel that records to several places")
struct RemoteQuestionTests {
    // The test runs in a process of its own, because the search path for rclone applies to a whole process.
    @Test("Before a channel goes on air, rclone is asked about the remote once, however many places are uploaded from")
    func once() async {
        await #expect(processExitsWith: .success) {
            let place = try TemporaryDirectory()
            let script = """
                #!/bin/sh
                echo "$@" >> '\(place.path("questions"))'
                echo 'no route to host' >&2
                exit 1
                """
            try place.write(script.utf8, to: "rclone")
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: place.path("rclone"))
            setenv("PATH", "\(place.path):/usr/bin:/bin", 1)

            let log = CollectedLog()
            let channel = try Channel(RemoteQuestionTests.configuration(in: place), logger: log.logger)
            #expect(channel.status.secondRecording?.directory == place.path("second"))
            #expect(log.lines(containing: "is not recorded").isEmpty)
            let questions = String(decoding: try place.bytes("questions"), as: UTF8.self).split(separator: "\n")
            #expect(questions.count == 1 && questions[0].hasSuffix("backend features archive:"))
            #expect(log.lines(containing: "does not answer").count == 1)
            channel.end()
        }
    }

    /// A program of two sources, both recorded, with a second directory: four places.
    static func configuration(in place: TemporaryDirectory) throws -> ChannelConfiguration {
        var recording = ChannelConfiguration.Recording(
            directory: place.path("first"), mount: .ignored, length: .duration(.seconds(1)), expected: .seconds(1),
            warning: .seconds(1), reserve: ByteSize(bytes: 100_000),
            upload: .remote(try RcloneRemote(parsing: "archive:bucket"), limit: nil), sources: ["cam1", "cam2"])
        recording.also = place.path("second")
        var configuration = ChannelConfiguration()
        (configuration.size, configuration.frameRate) = (FrameSize(width: 320, height: 180), FrameRate(25))
        configuration.encoder.preset = .ultrafast
        configuration.sources = ["cam1", "cam2"].map { .init(name: $0, input: InputLocation("test:")) }
        configuration.recording = recording
        return configuration
    }
}

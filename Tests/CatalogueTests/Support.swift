// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Logging
import Media
import Synchronization
import TestSupport

@testable import Archive
@testable import Catalogue
@testable import Segmenter

final class KeyframeSpy: KeyframeRequester {
    func requestKeyframe(at programTime: ProgramInstant?) {}
}

/// Records a synthetic program of 25 frames per second in files of two seconds, with a catalogue.
struct Recording {
    static let rate = FrameRate(25)

    let directory: TemporaryDirectory
    let recorder: Recorder
    let catalogue: Catalogue
    private let hasVideo: Bool

    init(
        in directory: TemporaryDirectory, channel: String = "test", format: RecordFormat = .hybrid,
        hasVideo: Bool = true
    ) throws {
        self.directory = directory
        self.hasVideo = hasVideo
        let target = try RecordDirectory.prepare(directory.path)
        catalogue = Catalogue(directory: target, channel: channel, logger: quiet)
        catalogue.start()
        var configuration = RecorderConfiguration(
            directory: target, channel: channel, length: .duration(.seconds(2)), programStart: UTCTime.now,
            version: "9.9", observers: [catalogue])
        configuration.format = format
        recorder = Recorder(
            configuration: configuration,
            description: StreamDescription(video: hasVideo ? Self.video : nil, audio: Self.audio),
            keyframes: KeyframeSpy(), logger: quiet)
    }

    private static let video = TrackDescription(
        format: VideoFormat(width: 320, height: 180, frameRate: rate),
        decoderConfiguration: SharedBytes([1, 100, 0, 31, 255, 224, 0]), bitrate: 500_000, reorderDepth: 2,
        encoderSettings: "x264 test settings")
    private static let audio = TrackDescription(
        format: .program, decoderConfiguration: SharedBytes([0x11, 0x90]), bitrate: 128_000, frameLength: 1024)

    /// Returns `frames` frames with a keyframe each second, and audio with one packet of priming, in decoding order.
    static func program(_ frames: Int64) -> [EncodedPacket] {
        var packets = (0..<frames).map { frame in
            EncodedPacket(
                of: video, pts: frame, dts: frame - 2, duration: 1,
                isKeyframe: frame % 25 == 0,
                // The payload is one NAL unit, after its length.
                payload: SharedBytes(
                    [0, 0, 0, 96] + [UInt8](repeating: max(1, UInt8(truncatingIfNeeded: frame)), count: 96)))
        }
        packets += (-1..<(frames * 1920 / 1024)).map { number in
            EncodedPacket(
                of: audio, pts: number * 1024, dts: number * 1024, duration: 1024, isKeyframe: true,
                payload: SharedBytes([UInt8](repeating: 7, count: 20)))
        }
        return packets.sorted { ($0.programDts, $0.track.rawValue) < ($1.programDts, $1.track.rawValue) }
    }

    func feed(_ packets: some Sequence<EncodedPacket>) {
        recorder.accept(Array(packets))
        recorder.wake()
        recorder.waitUntilIdle()
    }

    /// Records `frames` frames. If `hasGap` is set, the frames from 5 s to 6 s are lost.
    func record(_ frames: Int64, hasGap: Bool = false) {
        let packets = Self.program(frames).filter { hasVideo || $0.track == .audio && $0.pts >= 0 }
        guard hasGap, let cut = Self.index(of: 5, packets), let back = Self.index(of: 6, packets) else {
            return feed(packets)
        }
        feed(packets[..<cut])
        recorder.suspend("no room")
        recorder.waitUntilIdle()
        feed(packets[cut..<back])
        recorder.resume()
        feed(packets[back...])
    }

    private static func index(of second: Int64, _ packets: [EncodedPacket]) -> Int? {
        packets.firstIndex { $0.track == packets[0].track && $0.programPts >= .zero + .seconds(second) }
    }

    /// Ends the recorder, and waits until all files are closed and the catalogue is complete.
    func finish() {
        let done = DispatchSemaphore(value: 0)
        recorder.finish(deadline: .distantFuture) { done.signal() }
        done.wait()
        catalogue.finish { done.signal() }
        done.wait()
    }

    /// Makes a recording in a new directory, and ends it.
    static func make(
        _ frames: Int64 = 225, hasGap: Bool = false, format: RecordFormat = .hybrid, hasVideo: Bool = true
    ) throws -> TemporaryDirectory {
        let directory = try TemporaryDirectory()
        let recording = try Recording(in: directory, format: format, hasVideo: hasVideo)
        recording.record(frames, hasGap: hasGap)
        recording.finish()
        return directory
    }
}

extension ProgramInstant {
    /// The time in whole milliseconds.
    var milliseconds: Int64 { nanoseconds / 1_000_000 }
}

extension RecordingArchive {
    /// Returns the rows and gaps in the database on disk.
    func onDisk() throws -> Ledger { try ledger() ?? Ledger(segments: [], deleted: [], gaps: []) }
}

enum Shell {
    /// Runs a program and returns its output.
    static func run(_ arguments: String...) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = arguments
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let data = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: data, as: UTF8.self)
    }
}

// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Logging
import Media
import Synchronization
import TestSupport

@testable import Archive
@testable import Segmenter

/// Records the recorder's keyframe requests.
final class KeyframeSpy: KeyframeRequester {
    let requests = Mutex<[ProgramInstant?]>([])
    func requestKeyframe(at programTime: ProgramInstant?) { requests.withLock { $0.append(programTime) } }
}

@discardableResult
func run(_ arguments: String...) throws -> (status: Int32, output: String) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = arguments
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = pipe
    process.standardInput = FileHandle.nullDevice
    try process.run()
    let data = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return (process.terminationStatus, String(decoding: data, as: UTF8.self))
}

func videoPacket(
    _ frame: Int64, decodedAt dts: Int64? = nil, rate: FrameRate, isKeyframe: Bool, size: Int = 100
) -> EncodedPacket {
    EncodedPacket(
        of: videoTrack(rate: rate), pts: frame, dts: dts ?? frame, duration: 1, isKeyframe: isKeyframe,
        payload: SharedBytes(accessUnit(UInt8(truncatingIfNeeded: frame), count: size)))
}

extension EncodedPacket {
    /// Returns the same packet with the description `track`.
    func recoded(as track: TrackDescription) -> EncodedPacket {
        EncodedPacket(
            of: track, pts: pts, dts: dts, duration: duration, isKeyframe: isKeyframe, isDisposable: isDisposable,
            payload: payload)
    }
}

/// Returns one NAL unit with its length in front, as in an MP4: `count` bytes together. A frame's bytes are never all
/// zeros.
func accessUnit(_ byte: UInt8, count: Int) -> [UInt8] {
    let length = UInt32(count - 4)
    return withUnsafeBytes(of: length.bigEndian) { Array($0) } + [UInt8](repeating: byte | 1, count: count - 4)
}

func audioPacket(_ number: Int64, size: Int = 20) -> EncodedPacket {
    EncodedPacket(
        of: audioTrack, pts: number * 1024, dts: number * 1024, duration: 1024, isKeyframe: true,
        payload: SharedBytes([UInt8](repeating: 7, count: size)))
}

/// Returns a program of `frames` frames in GOPs, and audio with one packet of priming, in decoding order.
func syntheticProgram(rate: FrameRate, frames: Int64, isKeyframe: (Int64) -> Bool, size: Int = 100) -> [EncodedPacket] {
    var packets = (0..<frames).map {
        videoPacket($0, decodedAt: $0 - 2, rate: rate, isKeyframe: isKeyframe($0), size: size)
    }
    let end = rate.timeBase.rescale(frames, to: TimeBase(1, 48_000), rounding: .down)
    packets += (-1..<(end / 1024)).map { audioPacket($0) }
    return packets.sorted { ($0.programDts, $0.track.rawValue) < ($1.programDts, $1.track.rawValue) }
}

private let videoTracks = Mutex<[FrameRate: TrackDescription]>([:])

/// Returns the track of ``videoPacket(_:decodedAt:rate:isKeyframe:size:)``: one object per rate, because packets are
/// compared by identity.
func videoTrack(rate: FrameRate) -> TrackDescription {
    videoTracks.withLock { tracks in
        let track = tracks[rate] ?? videoTrack(rate: rate, avcC: [1, 100, 0, 31, 255, 224, 0])
        tracks[rate] = track
        return track
    }
}

func videoTrack(rate: FrameRate, avcC: [UInt8]) -> TrackDescription {
    TrackDescription(
        format: VideoFormat(width: 320, height: 180, frameRate: rate), decoderConfiguration: SharedBytes(avcC),
        bitrate: 500_000, reorderDepth: 2, encoderSettings: "x264 test settings")
}

/// The track of ``audioPacket(_:size:)``.
let audioTrack = aacTrack(asc: [0x11, 0x90])

func aacTrack(asc: [UInt8]) -> TrackDescription {
    TrackDescription(format: .program, decoderConfiguration: SharedBytes(asc), bitrate: 128_000, frameLength: 1024)
}

func description(rate: FrameRate) -> StreamDescription {
    StreamDescription(video: videoTrack(rate: rate), audio: audioTrack)
}

/// A recorder that the test feeds with packets and waits for.
struct Recording {
    let directory: TemporaryDirectory
    let recorder: Recorder
    let keyframes = KeyframeSpy()

    init(
        _ description: StreamDescription, length: SegmentLength, directory: TemporaryDirectory,
        clock: any MonotonicClock = SystemClock(), queueLimit: Int = 256 << 20,
        observers: [any RecordingObserver] = [], format: RecordFormat = .hybrid,
        wallClock: @escaping @Sendable () -> UTCTime = { .now }
    ) throws {
        self.directory = directory
        var configuration = RecorderConfiguration(
            directory: try RecordDirectory.prepare(directory.path), channel: "test", length: length,
            queueLimitBytes: queueLimit, programStart: UTCTime(milliseconds: 1_795_269_790_123), observers: observers)
        configuration.format = format
        recorder = Recorder(
            configuration: configuration, description: description, keyframes: keyframes, clock: clock,
            wallClock: wallClock, logger: quiet)
    }

    /// A recording with the test's own recorder.
    init(directory: TemporaryDirectory, recorder: Recorder) {
        self.directory = directory
        self.recorder = recorder
    }

    /// Feeds a whole program.
    func record(_ packets: some Sequence<EncodedPacket>) {
        feed(packets)
        finish()
    }

    func feed(_ packets: some Sequence<EncodedPacket>) {
        for packet in packets {
            recorder.accept([packet])
            if packet.track == .video { recorder.wake() }
        }
        recorder.wake()
    }

    func finish() {
        let done = DispatchSemaphore(value: 0)
        recorder.finish(deadline: .distantFuture) { done.signal() }
        done.wait()
    }

    var finished: [String] { directory.files.filter { $0.hasSuffix(".mp4") }.map(directory.path) }
}

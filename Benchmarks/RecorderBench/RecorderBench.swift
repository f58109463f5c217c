// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Dispatch
internal import FanOut
internal import Glibc
internal import Logging
internal import Media
internal import Segmenter

/// Measures the recorder alone; `scripts/bench recorder` runs it.
///
/// `RecorderBench DIR SECONDS [hybrid|fragmented|ts] [paced]` records SECONDS of a program of 8 Mbit/s, 30 fps and AAC
/// to one file, and copies that file in the way of cat. It prints the CPU time of the recording, of the copy, and of
/// closing the file.
@main
struct RecorderBench {
    private static let rate = FrameRate(30)
    private static let group: Int64 = 60

    static func main() throws {
        let arguments = CommandLine.arguments
        guard arguments.count >= 3, let seconds = Int64(arguments[2]), seconds > 0 else {
            print("usage: RecorderBench DIR SECONDS [hybrid|fragmented|ts] [paced]")
            exit(64)
        }
        let format = arguments.dropFirst(3).compactMap(RecordFormat.init(rawValue:)).first ?? .hybrid
        let isPaced = arguments.contains("paced")
        let (recording, closing, name) = try record(arguments[1], seconds, format, isPaced: isPaced)
        print("recorder: \(recording) for \(seconds) s of the program")
        print("close: \(closing)")
        guard !isPaced else { return }
        let copy = try copy("\(arguments[1])/\(name)", to: "\(arguments[1])/copy")
        print("copying the file as cat does: \(copy)")
        let ratio = (recording.cpu + closing.cpu) / copy.cpu
        print("ratio of CPU: \(Double(Int(ratio * 1000)) / 1000)")
    }

    /// The cost of an operation.
    private struct Cost: CustomStringConvertible {
        var cpu: Double
        var wall: Double
        var description: String { "\(Int(cpu * 1e6)) us CPU, \(Int(wall * 1e6)) us" }

        /// The CPU time of the process and the time of the clock, so far, in seconds.
        static func now() -> Cost {
            var usage = rusage()
            getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
            func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
            return Cost(
                cpu: seconds(usage.ru_utime) + seconds(usage.ru_stime),
                wall: Double(SystemClock().now.nanoseconds) / 1e9)
        }

        static func since(_ start: Cost) -> Cost {
            let now = now()
            return Cost(cpu: now.cpu - start.cpu, wall: now.wall - start.wall)
        }
    }

    private static func record(
        _ path: String, _ seconds: Int64, _ format: RecordFormat, isPaced: Bool
    ) throws -> (Cost, Cost, String) {
        var configuration = RecorderConfiguration(
            directory: try .prepare(path), channel: "bench", length: .duration(.seconds(7 * 86_400)))
        configuration.format = format
        configuration.sync = isPaced ? .standard : .never
        var logger = Logger(label: "bench")
        logger.logLevel = .error
        let recorder = Recorder(
            configuration: configuration, description: StreamDescription(video: Self.video, audio: Self.audio),
            keyframes: NoKeyframes(), logger: logger)
        let payloads = Payloads()
        var start = Cost.now()
        let origin = SystemClock().now
        var audioIndex: Int64 = -1
        for frame in 0..<seconds * 30 {
            if isPaced { SystemClock().sleep(until: origin + .seconds(frame) / 30) }
            while audioIndex * 1024 <= frame * 1600 {
                recorder.accept([payloads.audio(audioIndex, audio)])
                audioIndex += 1
            }
            recorder.accept([payloads.video(frame, video, group)])
            recorder.wake()
            if !isPaced, frame % 15 == 0 { recorder.waitForRoom() }
        }
        // Only the last fragment is written when the file is closed.
        while recorder.status.queueBytes > 0 { usleep(1000) }
        let recording = Cost.since(start)
        start = Cost.now()
        let done = DispatchSemaphore(value: 0)
        recorder.finish(deadline: .distantFuture) { done.signal() }
        done.wait()
        let status = recorder.status
        guard status.gapCount == 0, status.segmentsFinished == 1, let name = status.lastFinished else {
            throw BenchFailure()
        }
        return (recording, Cost.since(start), name)
    }

    /// Reads and writes in pieces of 128 KiB.
    private static func copy(_ path: String, to target: String) throws -> Cost {
        let start = Cost.now()
        let (source, file) = (open(path, O_RDONLY), open(target, O_WRONLY | O_CREAT | O_TRUNC, 0o644))
        guard source >= 0, file >= 0 else { throw BenchFailure() }
        defer {
            close(source)
            close(file)
        }
        var buffer = [UInt8](repeating: 0, count: 128 << 10)
        while true {
            let count = read(source, &buffer, buffer.count)
            guard count > 0 else { break }
            guard write(file, buffer, count) == count else { throw BenchFailure() }
        }
        return Cost.since(start)
    }

    private static let video = TrackDescription(
        format: VideoFormat(width: 1280, height: 720, frameRate: rate),
        decoderConfiguration: SharedBytes([1, 100, 0, 31, 255, 224, 0]), bitrate: 8_000_000, reorderDepth: 2,
        encoderSettings: "")
    private static let audio = TrackDescription(
        format: .program, decoderConfiguration: SharedBytes([0x11, 0x90]), bitrate: 160_000, frameLength: 1024)
}

/// Payloads with the sizes that an encoder produces at 8 Mbit/s. Many packets share each payload.
private struct Payloads {
    private let key = Payloads.bytes(150_000)
    private let others = (0..<8).map { Payloads.bytes(27_000 + $0 * 1250) }
    private let voice = SharedBytes([UInt8](repeating: 3, count: 427))

    /// One NAL unit, preceded by its length.
    private static func bytes(_ size: Int) -> SharedBytes {
        var bytes = [UInt8](repeating: 0x55, count: size)
        bytes.replaceSubrange(0..<5, with: withUnsafeBytes(of: UInt32(size - 4).bigEndian, Array.init) + [0x41])
        return SharedBytes(bytes)
    }

    func audio(_ number: Int64, _ track: TrackDescription) -> EncodedPacket {
        EncodedPacket(
            of: track, pts: number * 1024, dts: number * 1024, duration: 1024, isKeyframe: true, payload: voice)
    }

    func video(_ frame: Int64, _ track: TrackDescription, _ group: Int64) -> EncodedPacket {
        let isKeyframe = frame % group == 0
        return EncodedPacket(
            of: track, pts: frame, dts: frame - 2, duration: 1, isKeyframe: isKeyframe,
            payload: isKeyframe ? key : others[Int(frame % 8)])
    }
}

/// A requester that ignores requests, for a program whose keyframes come without requests.
private final class NoKeyframes: KeyframeRequester {
    func requestKeyframe(at programTime: ProgramInstant?) {}
}

/// A result that cannot be used.
private struct BenchFailure: Error {}

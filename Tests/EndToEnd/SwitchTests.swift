// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension SerialRecordings {
    /// Inputs with backups and a slate. The numbers in the recorded frames tell from which input each frame came.
    @Suite("Backup inputs")
    struct SwitchTests {
        /// The numbers of the first input's frames, of its later frames, and of the backup's frames.
        private static let (first, later, backup) = (UInt32(0)..<900, UInt32(900)..<1800, UInt32(1800)..<9000)

        private let directory: TemporaryDirectory
        private let set: RecordingSet

        init() throws {
            directory = try TemporaryDirectory()
            set = RecordingSet(directory: directory.file("recordings"))
        }

        /// Returns a file that relay has recorded: the test signal.
        private func signal() async throws -> String {
            let own = directory.file("signal")
            let result = try await RelayProcess.run(
                Shape.small + ["--unpaced", "--duration", "120s", "--record", own])
            #expect(result.ending == .exited(0), "\(result.log)")
            // In a recording, the data of each track is in pieces of half a second, and ffmpeg would send each piece in
            // a burst.
            let path = directory.file("signal.mp4")
            try await Clip.make(path, ["-i", try #require(RecordingSet(directory: own).finished.first), "-c", "copy"])
            return path
        }

        /// Sends `clip` from frame `start` on in real time. The packets are copied, unless `coding` requests an
        /// encoder.
        private func send(
            _ clip: String, from start: UInt32 = 0, to address: String, coding: [String] = ["-c", "copy"]
        ) throws -> ChildProcess {
            try ChildProcess(
                "ffmpeg",
                ["-v", "error", "-nostdin", "-re", "-ss", "\(start / 30)", "-i", clip] + coding
                    + ["-f", "mpegts", address])
        }

        private func udp(_ port: Int) -> String { "udp://127.0.0.1:\(port)" }

        private func isListening(_ port: Int) async throws {
            try await eventually("relay listens at \(port)", within: .seconds(15)) { Ports.isUsed(port, by: "udp") }
        }

        /// Waits until about `seconds` more of the program are recorded.
        private func plays(_ seconds: Int) async throws {
            let before = set.open.first.map { fileSize($0) } ?? 0
            try await eventually("\(seconds) s are recorded", within: .seconds(10)) {
                (set.open.first.map { fileSize($0) } ?? 0) >= before + seconds * 80_000
            }
        }

        /// Waits until the frames that are on air now are recorded. The first write after this call may contain only
        /// older data, and a file may end meanwhile.
        private func isRecorded() async throws {
            for _ in 0..<3 {
                let (file, size) = (set.open.first, set.open.first.map { fileSize($0) } ?? 0)
                try await eventually("more is recorded", within: .seconds(10)) {
                    guard let open = set.open.first else { return false }
                    return open != file || fileSize(open) > size
                }
            }
        }

        /// Calls `body`, which ends the open file, and waits until this file is finished.
        private func endsFile(_ body: () async throws -> Void) async throws {
            let count = set.finished.count
            try await body()
            try await eventually("another file is recorded", within: .seconds(20)) { set.finished.count > count }
        }

        /// Runs relay with `input` until `script` has returned. Returns the recorded file, its frames and the log.
        private func record(
            _ input: String, _ arguments: [String] = [], while script: (RelayProcess) async throws -> Void
        ) async throws -> (path: String, frames: DecodedFrames, log: String) {
            let relay = try RelayProcess(
                ["--input", input] + Shape.small + arguments + ["--record", set.directory])
            try await script(relay)
            let result = try await relay.end(by: SIGINT, within: .seconds(10))
            #expect(result.ending == .exited(0), "\(result.log)")
            let path = try #require(set.finished.first, "\(result.log)")
            #expect(set.finished.count == 1)
            let times = try await Probe.times(path, "v:0")
            for (before, after) in zip(times, times.dropFirst()) {
                #expect(abs(after - before - 1.0 / 30) < 0.002, "a frame lasts \(after - before) s")
            }
            return (path, try await DecodedFrames(path), result.log)
        }

        /// Returns the ranges to which the frames belong, in order and without repetitions; nil stands for a slate.
        private func order(_ frames: DecodedFrames, _ ranges: [Range<UInt32>]) -> [Int?] {
            var order: [Int?] = []
            for counter in frames.counters {
                let index = counter.flatMap { counter in ranges.firstIndex { $0.contains(counter) } }
                if order.isEmpty || order[order.count - 1] != index { order.append(index) }
            }
            return order
        }

        /// Returns the same as `order`, without slates.
        private func sources(_ frames: DecodedFrames, _ ranges: [Range<UInt32>]) -> [Int] {
            order(frames, ranges).compactMap { $0 }.reduce(into: []) { if $0.last != $1 { $0.append($1) } }
        }

        /// Waits until the log contains `text` `count` times.
        private func says(_ text: String, _ count: Int, _ relay: RelayProcess) async throws {
            try await eventually("relay says \"\(text)\" \(count) times", within: .seconds(20)) {
                relay.process.errors.ranges(of: text).count >= count
            }
        }

        /// Describes each place where the frames of `range` are not consecutive. Repeated frames are ignored.
        private func holes(_ frames: DecodedFrames, in range: Range<UInt32>) -> [String] {
            var own = frames.counters.compactMap { $0 }.filter { range.contains($0) }
            own = zip(own, own.dropFirst()).filter { $0 != $1 }.map(\.1)
            return DecodedFrames.breaks(in: own)
        }

        @Test(
            "A hot backup replaces a killed source after the timeout, and the source may return with another frame size"
        )
        func killed() async throws {
            let clip = try await signal()
            let server = try await RTMPServer.running()
            let (a, b) = (try Ports.free(), try Ports.free())
            let input = "\(udp(a))#name=cam1,backup=\(udp(b)),standby=hot,timeout=500ms,return=2s"
            let (path, frames, log) = try await record(input, ["--rtmp", server.url()]) { relay in
                try await isListening(a)
                let sender = try send(clip, to: udp(a))
                try await relay.says("input=cam1 reason=video", within: .seconds(10))
                let spare = try send(clip, from: Self.backup.lowerBound, to: udp(b))
                try await says("input is placed", 2, relay)
                try await server.hasReceived(bytes: 200_000, within: .seconds(10))
                sender.signal(SIGKILL)
                try await relay.says("reason=no_video", within: .seconds(10))
                let other = try send(
                    clip, from: Self.later.lowerBound, to: udp(a),
                    coding: ["-c:a", "copy", "-s", "480x270", "-c:v", "libx264", "-preset", "ultrafast", "-qp", "20"]
                        + ["-profile:v", "baseline", "-g", "15"])
                try await relay.says("reason=recovered", within: .seconds(20))
                let count = try fileSize(#require(server.recordings.first))
                try await server.hasReceived(bytes: Int(count) + 200_000, within: .seconds(10))
                other.signal(SIGKILL)
                spare.signal(SIGKILL)
            }
            #expect(sources(frames, [Self.first, Self.later, Self.backup]).prefix(3) == [0, 2, 1], "\(log)")
            for range in [Self.first, Self.later, Self.backup] {
                #expect(holes(frames, in: range).isEmpty, "\(holes(frames, in: range))")
            }
            // The last frame of the killed source is held for the timeout. Frames that were read ahead are lost.
            let stood = frames.counters.filter { $0 == frames.counters.last { Self.first.contains($0 ?? .max) } }.count
            #expect(stood <= 18, "the last frame stood for \(stood) frames")
            #expect(try await Probe.complaints(path).isEmpty)
            #expect(server.recordings.count == 1 && !log.contains("reconnects"), "\(log)")
            let received = try await DecodedFrames(try await server.recording())
            #expect(sources(received, [Self.first, Self.later, Self.backup]).prefix(3) == [0, 2, 1])
        }

        @Test(
            "When a source freezes, a backup file is opened and replaces it until the source sends again"
        )
        func frozen() async throws {
            let clip = try await signal()
            let port = try Ports.free()
            let loop = directory.file("loop.mp4")
            try await Clip.make(loop, ["-ss", "\(Self.backup.lowerBound / 30)", "-t", "20", "-i", clip, "-c", "copy"])
            let (_, frames, log) = try await record("\(udp(port))#backup=\(loop),timeout=1s,return=1s") { relay in
                try await isListening(port)
                let sender = try send(clip, to: udp(port))
                try await says("input=\(udp(port)) reason=", 1, relay)
                try await plays(2)
                let before = relay.process.errors.ranges(of: "input=\(loop) reason=").count
                let own = relay.process.errors.ranges(of: "input=\(udp(port)) reason=").count
                sender.signal(SIGSTOP)
                try await says("input=\(loop) reason=", before + 1, relay)
                try await plays(1)
                sender.signal(SIGCONT)
                try await says("input=\(udp(port)) reason=", own + 1, relay)
                try await relay.says("input is closed", within: .seconds(20))
                sender.signal(SIGKILL)
            }
            let found = sources(frames, [Self.first, Self.backup])
            #expect(found.contains(1) && found.suffix(3).contains(0), "\(found) \(log)")
            // Each time the backup file is opened, it starts again. This also happens before the sender answers.
            let reopened = "\(Self.backup.lowerBound) follows"
            let holes = holes(frames, in: Self.backup).filter { !$0.hasPrefix(reopened) }
            #expect(holes.isEmpty, "\(holes)")
        }

        @Test("If a channel's input is absent, the slate is on air at the start, and each time the input is lost")
        func absent() async throws {
            let clip = try await signal()
            let port = try Ports.free()
            let arguments = ["--slate", "bars", "--channel", "news"]
            let input = "tcp://127.0.0.1:\(port)?listen=1#timeout=1s,name=cam"
            let (path, frames, log) = try await record(input, arguments) { relay in
                try await relay.says("input=slate reason=start", within: .seconds(10))
                for (turn, range) in [Self.first, Self.later].enumerated() {
                    // There is no listening socket until relay opens the address again.
                    var sender = try send(clip, from: range.lowerBound, to: "tcp://127.0.0.1:\(port)")
                    try await eventually("the source is on air", within: .seconds(20)) {
                        if !sender.isRunning {
                            sender = try send(clip, from: range.lowerBound, to: "tcp://127.0.0.1:\(port)")
                        }
                        return relay.process.errors.ranges(of: "input=cam reason=video").count == turn + 1
                    }
                    try await plays(1)
                    sender.signal(SIGKILL)
                    try await eventually("the slate is on air", within: .seconds(20)) {
                        relay.process.errors.ranges(of: "input=slate reason=disconnected").count == turn + 1
                    }
                }
                try await isRecorded()
            }
            let found = order(frames, [Self.first, Self.later])
            #expect(found == [nil, 0, nil, 1, nil], "\(found) \(log)")
            #expect(try await Probe.complaints(path).isEmpty)
        }

        @Test(
            "If the input and the first backup are lost, the second backup is on air, and after it the slate"
        )
        func twice() async throws {
            let clip = try await signal()
            let (a, b, c) = (try Ports.free(), try Ports.free(), try Ports.free())
            let input = "\(udp(a))#backup=\(udp(b)),backup=\(udp(c)),standby=hot,timeout=500ms,return=never"
            let (_, frames, log) = try await record(input) { relay in
                try await isListening(c)
                var senders = [try send(clip, to: udp(a))]
                try await relay.says("input=\(udp(a)) reason=video", within: .seconds(10))
                senders.append(try send(clip, from: Self.later.lowerBound, to: udp(b)))
                senders.append(try send(clip, from: Self.backup.lowerBound, to: udp(c)))
                try await says("input is placed", 3, relay)
                for (index, sender) in senders.enumerated() {
                    try await plays(1)
                    sender.signal(SIGKILL)
                    try await eventually("something else is on air", within: .seconds(10)) {
                        relay.process.errors.ranges(of: "reason=no_video").count == index + 1
                    }
                }
                try await isRecorded()
            }
            #expect(sources(frames, [Self.first, Self.later, Self.backup]) == [0, 1, 2], "\(log)")
            #expect(order(frames, [Self.first, Self.later, Self.backup]).last == .some(nil), "\(log)")
        }

        @Test("An input whose video stops while its audio continues counts as lost")
        func deadVideo() async throws {
            let clip = try await signal()
            let (a, b) = (try Ports.free(), try Ports.free())
            let short = directory.file("short.mp4")
            try await Clip.make(short, ["-i", clip, "-t", "12", "-an", "-c", "copy"])
            let input = "\(udp(a))#backup=\(udp(b)),standby=hot,timeout=500ms"
            let (_, frames, log) = try await record(input) { relay in
                try await isListening(a)
                let sender = try ChildProcess(
                    "ffmpeg",
                    ["-v", "error", "-nostdin", "-re", "-i", short, "-re", "-i", clip, "-map", "0:v", "-map", "1:a"]
                        + ["-c", "copy", "-f", "mpegts", udp(a)])
                try await relay.says("input=\(udp(a)) reason=video", within: .seconds(10))
                let spare = try send(clip, from: Self.backup.lowerBound, to: udp(b))
                try await relay.says("input=\(udp(b)) reason=no_video", within: .seconds(20))
                try await plays(1)
                sender.signal(SIGKILL)
                spare.signal(SIGKILL)
            }
            #expect(sources(frames, [Self.first, Self.backup]) == [0, 1], "\(log)")
            #expect(holes(frames, in: Self.backup).isEmpty)
        }

        @Test("In copy mode a backup stays on air until the returning input has a keyframe")
        func copiedReturn() async throws {
            let clip = try await signal()
            let server = try await RTMPServer.running()
            let (a, b) = (try Ports.free(), try Ports.free())
            let input = "\(udp(a))#backup=\(udp(b)),standby=hot,timeout=500ms,return=1s"
            let relay = try RelayProcess(["--input", input, "--copy", "--rtmp", server.url()])
            try await isListening(a)
            var sender = try send(clip, to: udp(a))
            try await relay.says("reason=start", within: .seconds(15))
            let spare = try send(clip, from: Self.backup.lowerBound, to: udp(b))
            try await server.hasReceived(bytes: 200_000, within: .seconds(10))
            sender.signal(SIGKILL)
            try await relay.says("reason=no_video", within: .seconds(10))
            sender = try send(clip, to: udp(a))
            try await relay.says("reason=recovered", within: .seconds(30))
            try await server.receives(.seconds(3))
            let result = try await relay.end(by: SIGINT, within: .seconds(10))
            for sender in [sender, spare] { sender.signal(SIGKILL) }
            #expect(result.ending == .exited(0), "\(result.log)")
            let recording = try await server.recording()
            let times = try await Probe.times(recording, "v:0")
            let holes = zip(times, times.dropFirst()).map { $1 - $0 }.filter { $0 > 0.2 }
            #expect(holes.count == 1, "the loss alone leaves one: \(holes)")
            #expect(order(try await DecodedFrames(recording), [Self.first, Self.backup]) == [0, 1, 0])
        }

        @Test(
            "A copied backup goes on air unchanged at its keyframe; times continue, and each coding has its own file")
        func copied() async throws {
            let clip = try await signal()
            let server = try await RTMPServer.running()
            let (a, b) = (try Ports.free(), try Ports.free())
            let other = directory.file("other.mp4")
            try await Clip.make(
                other,
                [
                    "-ss", "\(Self.backup.lowerBound / 30)", "-i", clip, "-c:a", "copy", "-c:v", "libx264", "-preset",
                    "ultrafast", "-profile:v", "baseline", "-g", "15", "-qp", "20",
                ])
            let input = "\(udp(a))#backup=\(udp(b)),standby=hot,timeout=500ms,return=never"
            let relay = try RelayProcess(
                ["--input", input, "--copy", "--record", set.directory, "--rtmp", server.url()])
            try await isListening(a)
            // The input that first has video goes on air, and stays on air because of return=never.
            let sender = try send(clip, to: udp(a))
            try await relay.says("reason=start", within: .seconds(15))
            let spare = try send(other, to: udp(b))
            try await server.hasReceived(bytes: 200_000, within: .seconds(10))
            sender.signal(SIGKILL)
            try await relay.says("reason=no_video", within: .seconds(10))
            try await eventually("the backup is recorded", within: .seconds(15)) { set.finished.count == 1 }
            try await plays(2)
            let result = try await relay.end(by: SIGINT, within: .seconds(10))
            spare.signal(SIGKILL)
            #expect(result.ending == .exited(0), "\(result.log)")

            let files = try await set.frames()
            #expect(files.count == 2 && files.allSatisfy { $0.breaks.isEmpty }, "\(files.map(\.breaks))")
            #expect(order(files[0], [Self.first, Self.backup]) == [0])
            #expect(order(files[1], [Self.first, Self.backup]) == [1])
            for path in set.finished { #expect(try await Probe.complaints(path).isEmpty) }
            #expect(server.recordings.count == 1 && !result.log.contains("reconnects"), "\(result.log)")
            let received = try await DecodedFrames(try await server.recording())
            #expect(order(received, [Self.first, Self.backup]) == [0, 1])
            let times = try await Probe.times(try await server.recording(), "v:0")
            #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 })
        }

        @Test("In copy mode a playlist that is a hot backup goes on air at its live edge, not where it was opened")
        func copiedPlaylist() async throws {
            let clip = try await signal()
            let served = directory.file("served")
            try FileManager.default.createDirectory(atPath: served, withIntermediateDirectories: true)
            let server = try await WebServer(served)
            let spare = try ChildProcess(
                "ffmpeg",
                ["-v", "error", "-nostdin", "-re", "-ss", "\(Self.backup.lowerBound / 30)", "-i", clip, "-c", "copy"]
                    + ["-f", "hls", "-hls_time", "2", "-hls_list_size", "6", "-hls_flags", "delete_segments"]
                    + [served + "/live.m3u8"])
            func newest() -> Int {
                let numbers = fileNames(in: served).map { $0.drop { !$0.isNumber }.prefix { $0.isNumber } }
                return numbers.compactMap { Int($0) }.max() ?? 0
            }
            try await eventually("there is a playlist", within: .seconds(20)) { newest() >= 3 }
            let port = try Ports.free()
            let backup = "backup=\(server.url("live.m3u8")),standby=hot,timeout=4s,return=2s"
            let relay = try RelayProcess(["--input", "\(udp(port))#\(backup)", "--copy", "--record", set.directory])
            try await isListening(port)
            let sender = try send(clip, to: udp(port))
            // The program begins with the input that answers first, and later returns to the first input.
            try await says("input=\(udp(port)) reason=", 1, relay)
            try await eventually("the playlist has moved on", within: .seconds(40)) { newest() >= 10 }
            let edge = newest()
            try await endsFile {
                sender.signal(SIGKILL)
                try await relay.says("reason=no_video", within: .seconds(10))
            }
            try await plays(3)
            let result = try await relay.end(by: SIGINT, within: .seconds(10))
            spare.signal(SIGKILL)
            #expect(result.ending == .exited(0), "\(result.log)")
            let files = try await set.frames()
            let shown = files.map { order($0, [Self.first, Self.backup]) }.drop { $0 == [1] }
            #expect(shown == [[0], [1]], "\(shown) \(result.log)")
            let last = try #require(files.last)
            let first = try #require(last.counters.lazy.compactMap { $0 }.first)
            // A player begins three segments, of 60 frames each, before the newest segment.
            #expect(first >= Self.backup.lowerBound + 60 * UInt32(edge - 5), "\(first) at segment \(edge)")
            #expect(last.breaks.isEmpty, "\(last.breaks)")
        }

        @Test(
            "In copy mode a slate of the lost input's size is on air at once, until the input returns with a keyframe")
        func copiedSlate() async throws {
            let clip = try await signal()
            let server = try await RTMPServer.running()
            let port = try Ports.free()
            let relay = try RelayProcess(
                ["--input", "\(udp(port))#timeout=2s", "--copy", "--slate", "bars", "--channel", "news"]
                    + ["--record", set.directory, "--rtmp", server.url()])
            try await isListening(port)
            for (turn, range) in [Self.first, Self.later].enumerated() {
                let sender = try send(clip, from: range.lowerBound, to: udp(port))
                try await says("input=\(udp(port)) reason=", turn + 1, relay)
                try await plays(2)
                try await endsFile {
                    sender.signal(SIGKILL)
                    try await says("input=slate reason=no_video", turn + 1, relay)
                }
                try await isRecorded()
            }
            try await server.receives(.seconds(3))
            let result = try await relay.end(by: SIGINT, within: .seconds(10))
            #expect(result.ending == .exited(0), "\(result.log)")

            // On a slow machine the program begins with the slate.
            let files = try await set.frames()
            let shown = files.map { order($0, [Self.first, Self.later]) }.drop { $0 == [nil] }
            #expect(shown == [[0], [nil], [1], [nil]], "\(shown) \(result.log)")
            for path in set.finished { #expect(try await Probe.complaints(path).isEmpty) }
            for file in files where file.counters.contains(where: { $0 != nil }) {
                #expect(file.breaks.isEmpty, "\(file.breaks)")
            }
            #expect(server.recordings.count == 1 && !result.log.contains("reconnects"), "\(result.log)")
            let recording = try await server.recording()
            let received = order(try await DecodedFrames(recording), [Self.first, Self.later])
            #expect(received.drop { $0 == nil } == [0, nil, 1, nil], "\(received)")
            for track in ["v:0", "a:0"] {
                let times = try await Probe.times(recording, track)
                #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 }, "\(track)")
            }
        }

        @Test("In copy mode a slate replaces an absent input; an HEVC input has no slate, which is reported")
        func copiedAbsent() async throws {
            let clip = try await signal()
            let port = try Ports.free()
            let relay = try RelayProcess(
                ["--input", "tcp://127.0.0.1:\(port)?listen=1#timeout=1s", "--copy", "--slate", "bars"]
                    + ["--record", set.directory])
            try await relay.says("input=slate reason=start", within: .seconds(10))
            try await isRecorded()
            let sender = try send(clip, to: "tcp://127.0.0.1:\(port)")
            try await relay.says("reason=video", within: .seconds(20))
            try await eventually("the slate's file is finished", within: .seconds(20)) { set.finished.count == 1 }
            try await plays(1)
            let result = try await relay.end(by: SIGINT, within: .seconds(10))
            sender.signal(SIGKILL)
            #expect(result.ending == .exited(0), "\(result.log)")
            let shown = try await set.frames().map { order($0, [Self.first]) }
            #expect(shown == [[nil], [0]], "\(shown) \(result.log)")

            let other = directory.file("other.ts")
            try await Clip.make(
                other, ["-i", clip, "-t", "20", "-c:a", "copy", "-c:v", "libx265", "-preset", "ultrafast"])
            let second = try RelayProcess(
                ["--input", "\(udp(port))", "--copy", "--slate", "bars", "--record", set.directory])
            try await isListening(port)
            let coded = try send(other, to: udp(port))
            try await second.says("there can be no slate", within: .seconds(30))
            let warned = try await second.end(by: SIGINT, within: .seconds(10))
            coded.signal(SIGKILL)
            #expect(warned.log.contains("HEVC"), "\(warned.log)")
        }

        @Test("Without a slate and without an input that sends, relay ends before the program begins")
        func nothing() async throws {
            let dead = "rtmp://127.0.0.1:\(try Ports.free())/live/secretkey"
            let result = try await RelayProcess.run(
                ["--input", "\(dead)#backup=/nowhere.mp4", "--slate", "off", "--record", set.directory])
            #expect(result.ending == .exited(66), "\(result.log)")
            #expect(!result.log.contains("secretkey"))
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Foundation
internal import Glibc
internal import Media
internal import Networking
internal import Publisher

/// The least work that fan-out of single tags can be: one thread sends each tag at its own time to each of N sockets by
/// one `send`, and does nothing else.
struct FloorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "floor", abstract: "Send each tag by a bare send() to each of N raw sockets; print what it cost.")

    private struct Tag {
        /// The time from the first frame to this tag.
        let time: Duration
        let bytes: [UInt8]
    }

    @OptionGroup var options: MeasureOptions

    func run() throws {
        DescriptorLimit.raise()
        let clip = try Clip(path: options.input)
        let tags = Self.tags(of: clip)
        let before = ProcessUsage.residentMegabytes
        signal(SIGPIPE, SIG_IGN)
        let sockets = try (0..<options.outputs).map { _ in try LoopbackSocket.connected(to: options.port) }
        defer { for socket in sockets { close(socket) } }
        let start = SystemClock().now
        _ = try send(tags, of: clip, to: sockets, from: start, until: start + .seconds(options.warmUp))
        let window = Window()
        let end = SystemClock().now + .seconds(options.seconds)
        let bytes = try send(tags, of: clip, to: sockets, from: start, until: end)
        let cpu = window.cpuPerOutputMinute(outputs: sockets.count)
        let seconds = window.seconds
        let resident = ProcessUsage.residentMegabytes
        try Measurement(
            kind: "floor", outputs: sockets.count, cpuPerOutputMinute: cpu, windowSeconds: seconds,
            megabitsPerOutput: Double(bytes) * 8 / 1e6 / seconds / Double(max(1, sockets.count)),
            residentBefore: before, residentMegabytes: resident, residentAdded: resident - before,
            threads: ProcessUsage.threads, descriptors: ProcessUsage.descriptors
        ).print()
    }

    /// FLV tags in the order of their times. The length of a tag's head is right; its content is not important here.
    private static func tags(of clip: Clip) -> [Tag] {
        let origin = clip.beats[0].video.programDts
        let packets = clip.beats.flatMap { [$0.video] + $0.audio }
        return packets.map { packet in
            let head = [UInt8](repeating: 0, count: packet.track == .video ? 16 : 13)
            return Tag(time: max(.zero, packet.programDts - origin), bytes: head + packet.payload.array)
        }
        .sorted { $0.time < $1.time }
    }

    /// Sends the tags that are due from now until `end`, counted from `start`. Returns the number of bytes that were
    /// sent.
    private func send(
        _ tags: [Tag], of clip: Clip, to sockets: [CInt], from start: MonotonicInstant, until end: MonotonicInstant
    ) throws -> Int {
        let clock = SystemClock()
        let passed = clock.now - start
        var lap = clip.length * Int(passed / clip.length)
        var index = tags.firstIndex { $0.time >= passed - lap } ?? tags.count
        var bytes = 0
        while true {
            if index == tags.count { (index, lap) = (0, lap + clip.length) }
            let due = start + lap + tags[index].time
            guard due < end else { return bytes }
            clock.sleep(until: due)
            bytes += try tags[index].bytes.withUnsafeBytes { tag in
                try sockets.reduce(0) { sum, socket in
                    let count = Glibc.send(socket, tag.baseAddress, tag.count, CInt(MSG_NOSIGNAL))
                    guard count > 0 else { throw BenchError("the sink has closed a connection") }
                    return sum + count
                }
            }
            index += 1
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport

/// nginx with its RTMP module, in one process. It records what it receives to FLV files.
final class RTMPServer: Sendable {
    private let host: String
    let port: Int
    private let directory: TemporaryDirectory
    private let process = Mutex<ChildProcess?>(nil)

    /// Creates a server that does not run yet. `host` may be an IPv6 literal in brackets.
    init(host: String = "127.0.0.1") throws {
        self.host = host
        port = try Ports.free()
        directory = try TemporaryDirectory()
        try FileManager.default.createDirectory(atPath: directory.file("flv"), withIntermediateDirectories: true)
    }

    /// Returns a server that runs.
    static func running(host: String = "127.0.0.1") async throws -> RTMPServer {
        let server = try RTMPServer(host: host)
        try await server.start()
        return server
    }

    /// Returns the address to which clients publish.
    func url(key: String = "program") -> String { "rtmp://\(host):\(port)/live/\(key)" }

    /// Starts the server, even if it has run before, and waits until it listens.
    func start() async throws {
        let configuration = directory.file("nginx.conf")
        try text.write(toFile: configuration, atomically: true, encoding: .utf8)
        let arguments = try await Self.errorLog() + ["-p", directory.path, "-c", configuration]
        let child = try ChildProcess("nginx", arguments)
        process.withLock { $0 = child }
        try await eventually("nginx listens at \(host):\(port)", within: .seconds(5)) {
            guard child.isRunning else { throw HarnessFailure("nginx did not start: \(child.errors)") }
            return Ports.isUsed(port, by: "tcp") && fileNames(in: directory.path).contains("nginx.pid")
        }
    }

    /// Returns the arguments that keep nginx from also opening its compiled-in log. Before 1.19.5 nginx does not have
    /// `-e`, and only reports an error if it may not write to that log.
    static func errorLog() async throws -> [String] {
        let help = try ChildProcess("nginx", ["-h"])
        try await help.ending(within: .seconds(5))
        return (help.output + help.errors).contains("-e filename") ? ["-e", "stderr"] : []
    }

    private var text: String {
        """
        load_module "\(Self.modules)/ngx_rtmp_module.so";
        daemon off; master_process off; pid "\(directory.file("nginx.pid"))"; error_log stderr warn;
        events { worker_connections 64; }
        rtmp { server { listen \(host):\(port); application live {
            live on; record all; record_path "\(directory.file("flv"))"; record_unique on; record_append off;
        } } }

        """
    }

    static var modules: String {
        ["/usr/lib/nginx/modules", "/usr/lib64/nginx/modules", "/usr/share/nginx/modules"]
            .first { FileManager.default.fileExists(atPath: "\($0)/ngx_rtmp_module.so") } ?? "modules"
    }

    /// Stops the server's process: its sockets stay open, but are not read.
    func freeze() { process.withLock { $0?.signal(SIGSTOP) } }

    /// Undoes ``freeze()``.
    func thaw() { process.withLock { $0?.signal(SIGCONT) } }

    /// Kills the server, without an RTMP teardown.
    func kill() async throws {
        let child = process.withLock { $0 }
        child?.signal(SIGKILL)
        try await child?.ending(within: .seconds(5))
        try? FileManager.default.removeItem(atPath: directory.file("nginx.pid"))
    }

    /// The files that were received so far: one for each time that the publisher went on air, the oldest first.
    var recordings: [String] {
        fileNames(in: directory.file("flv")).map { directory.file("flv/\($0)") }.filter { fileSize($0) > 0 }
    }

    /// Waits until some media has arrived in the `count`-th recording.
    @discardableResult
    func hasReceived(recording count: Int = 1, bytes: Int = 10_000, within limit: Duration) async throws -> Duration {
        try await eventually("media arrives at \(url(key: "…"))", within: limit) {
            recordings.count >= count && fileSize(recordings[count - 1]) >= bytes
        }
    }

    /// The program time of the newest frame or audio packet that was received; nil before the first one, and while one
    /// is being written.
    private var programTime: Duration? {
        guard let path = recordings.last, let file = FileHandle(forReadingAtPath: path) else { return nil }
        func number(at place: UInt64, _ count: Int) -> UInt64? {
            guard (try? file.seek(toOffset: place)) != nil, let bytes = try? file.read(upToCount: count) else {
                return nil
            }
            return bytes.count == count ? bytes.reduce(0) { $0 << 8 | UInt64($1) } : nil
        }
        // FLV, annex E.4: a tag consists of its type; in 3 bytes, the length of the data after its first 11 bytes; the
        // time in 3 bytes and one more byte, which is the highest. The tag's whole size follows in 4 bytes.
        guard let end = try? file.seekToEnd(), end > 17, let size = number(at: end - 4, 4), size > 11, size + 17 <= end,
            case let tag = end - 4 - size, let type = number(at: tag, 1), [8, 9].contains(type),
            number(at: tag + 1, 3) == size - 11, let low = number(at: tag + 4, 3), let high = number(at: tag + 7, 1)
        else { return nil }
        return .milliseconds(high << 24 | low)
    }

    /// Waits until this much more of the program was received. So the sender has sent this much more, however slow the
    /// machine is.
    func receives(_ time: Duration) async throws {
        var start: Duration?
        try await eventually("\(time) of the program arrive", within: time + .seconds(10)) {
            guard let now = programTime else { return false }
            if start == nil { start = now }
            return start.map { now - $0 >= time } ?? false
        }
    }

    /// Waits until the server has also ended the publisher's session, and returns the recordings.
    func finishedRecordings() async throws -> [String] {
        try await eventually("nginx closes its recording", within: .seconds(10)) {
            process.withLock { $0 }?.openFiles.allSatisfy { !$0.hasSuffix(".flv") } ?? true
        }
        return recordings
    }

    /// Returns the only recording, after its session has ended.
    func recording() async throws -> String {
        let all = try await finishedRecordings()
        guard let first = all.first, all.count == 1 else {
            throw HarnessFailure("The RTMP server has \(all.count) recordings where one was expected.")
        }
        return first
    }
}

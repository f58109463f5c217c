// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport

/// nginx with its RTMP module, in one process, recording what it receives to FLV files.
final class RTMPServer: Sendable {
    private let host: String
    let port: Int
    private let directory: TemporaryDirectory
    private let process = Mutex<ChildProcess?>(nil)

    /// A server that does not run yet. `host` may be an IPv6 literal in brackets.
    init(host: String = "127.0.0.1") throws {
        self.host = host
        port = try Ports.free()
        directory = try TemporaryDirectory()
        try FileManager.default.createDirectory(atPath: directory.file("flv"), withIntermediateDirectories: true)
    }

    /// A server that runs.
    static func running(host: String = "127.0.0.1") async throws -> RTMPServer {
        let server = try RTMPServer(host: host)
        try await server.start()
        return server
    }

    /// Where to publish.
    func url(key: String = "program") -> String { "rtmp://\(host):\(port)/live/\(key)" }

    /// Starts the server, again if it ran before, and waits until it listens.
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

    /// Without `-e` nginx also opens the log that was compiled in. Before 1.19.5 it does not know the flag, and only
    /// complains where it may not write there.
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

    /// Stops the server's time: its sockets stay open, and no process reads them.
    func freeze() { process.withLock { $0?.signal(SIGSTOP) } }

    /// Undoes ``freeze()``.
    func thaw() { process.withLock { $0?.signal(SIGCONT) } }

    /// Ends the server without a teardown.
    func kill() async throws {
        let child = process.withLock { $0 }
        child?.signal(SIGKILL)
        try await child?.ending(within: .seconds(5))
        try? FileManager.default.removeItem(atPath: directory.file("nginx.pid"))
    }

    /// What was received until now: one file for each time that the publisher came on air, the oldest first.
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

    /// The program's time of the newest frame or audio that was received; nil before the first, and while one is being
    /// written.
    private var programTime: Duration? {
        guard let path = recordings.last, let file = FileHandle(forReadingAtPath: path) else { return nil }
        func number(at place: UInt64, _ count: Int) -> UInt64? {
            guard (try? file.seek(toOffset: place)) != nil, let bytes = try? file.read(upToCount: count) else {
                return nil
            }
            return bytes.count == count ? bytes.reduce(0) { $0 << 8 | UInt64($1) } : nil
        }
        // FLV, annex E.4: a tag is a type, the length of what follows its first 11 bytes in 3 bytes, the time in 3 and, as
        // the highest byte, one more. Behind it stands its whole size in 4 bytes.
        guard let end = try? file.seekToEnd(), end > 17, let size = number(at: end - 4, 4), size > 11, size + 17 <= end,
            case let tag = end - 4 - size, let type = number(at: tag, 1), [8, 9].contains(type),
            number(at: tag + 1, 3) == size - 11, let low = number(at: tag + 4, 3), let high = number(at: tag + 7, 1)
        else { return nil }
        return .milliseconds(high << 24 | low)
    }

    /// Waits until this much more of the program has been received: this time passes for the sender, too, however slow
    /// the machine is.
    func receives(_ time: Duration) async throws {
        var start: Duration?
        try await eventually("\(time) of the program arrive", within: time + .seconds(10)) {
            guard let now = programTime else { return false }
            if start == nil { start = now }
            return start.map { now - $0 >= time } ?? false
        }
    }

    /// Waits until the publisher's session is over here too, and returns the recordings.
    func finishedRecordings() async throws -> [String] {
        try await eventually("nginx closes its recording", within: .seconds(10)) {
            process.withLock { $0 }?.openFiles.allSatisfy { !$0.hasSuffix(".flv") } ?? true
        }
        return recordings
    }

    /// The only recording, of a session that is over.
    func recording() async throws -> String {
        let all = try await finishedRecordings()
        guard let first = all.first, all.count == 1 else {
            throw HarnessFailure("The RTMP server has \(all.count) recordings where one was expected.")
        }
        return first
    }
}

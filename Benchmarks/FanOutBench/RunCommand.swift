// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Dispatch
internal import FanOut
internal import Foundation
internal import Logging
internal import Media
internal import Networking
internal import Publisher
internal import Synchronization

/// Sends a file to N outputs through the real packet stream, supervisors and RTMP outputs.
struct RunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Send through relay's own fan-out; print what it cost.")

    @OptionGroup var options: MeasureOptions

    @Option(help: "More outputs beside them, to a server that accepts connections and never says a word.")
    var frozen = 0

    @Option(help: "Writer queues.")
    var writers = 1

    @Option(help: "The RTMP application of the sink.")
    var app = "live"

    @Option(help: "Seconds for which the delay is sampled, after the window.")
    var delay = 5

    @Flag(help: "Log what the outputs do, on standard error.")
    var verbose = false

    func run() throws {
        let level = verbose ? Logger.Level.info : .critical
        LoggingSystem.bootstrap { label in
            var handler = StreamLogHandler.standardError(label: label)
            handler.logLevel = level
            return handler
        }
        DescriptorLimit.raise()
        let clip = try Clip(path: options.input)
        let before = ProcessUsage.residentMegabytes
        let silence = try SilentServer(backlog: frozen)
        let bench = Bench(clip: clip)
        let pool = RTMPWriterPool(count: writers)
        for index in 0..<frozen {
            try bench.add("rtmp://127.0.0.1:\(silence.port)/\(app)/frozen-\(index)", pool: pool, isHealthy: false)
        }
        for index in 0..<options.outputs {
            try bench.add("rtmp://127.0.0.1:\(options.port)/\(app)/bench-\(index)", pool: pool, isHealthy: true)
        }
        bench.start()
        let secondsToLive = bench.awaitLive(within: 60)
        var measurement = measure(bench)
        measurement.residentBefore = before
        measurement.residentAdded = measurement.residentMegabytes - before
        measurement.secondsToLive = secondsToLive
        if delay > 0 { measurement.delayMilliseconds = bench.sampleDelay(seconds: delay) }
        bench.end()
        try measurement.print()
    }

    private func measure(_ bench: Bench) -> Measurement {
        Thread.sleep(forTimeInterval: Double(options.warmUp))
        let bytes = bench.bytes
        let window = Window()
        var threads = 0
        for _ in 0..<options.seconds {
            Thread.sleep(forTimeInterval: 1)
            threads = max(threads, ProcessUsage.threads)
        }
        let cpu = window.cpuPerOutputMinute(outputs: options.outputs)
        let seconds = window.seconds
        let megabits = Double(bench.bytes - bytes) * 8 / 1e6 / seconds / Double(max(1, options.outputs))
        let statuses = bench.statuses
        return Measurement(
            kind: "relay", outputs: options.outputs, cpuPerOutputMinute: cpu, windowSeconds: seconds,
            megabitsPerOutput: megabits, framesPublished: bench.published,
            framesSentByTheLeast: Int(statuses.map(\.frames).min() ?? 0),
            drops: statuses.reduce(0) { $0 + $1.queue.drops.values.reduce(0, +) },
            reconnects: statuses.reduce(0) { $0 + $1.reconnects }, residentBefore: 0,
            residentMegabytes: ProcessUsage.residentMegabytes, residentAdded: 0, threads: ProcessUsage.threads,
            threadsAtMost: threads, descriptors: ProcessUsage.descriptors)
    }
}

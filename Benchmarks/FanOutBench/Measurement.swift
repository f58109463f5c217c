// SPDX-License-Identifier: Apache-2.0

internal import Foundation

/// The result of one run, which is printed as one line of JSON.
struct Measurement: Codable {
    /// The kind of run: `relay` or `floor`.
    var kind: String
    var outputs: Int
    /// CPU seconds per output and minute, in the window.
    var cpuPerOutputMinute: Double
    var windowSeconds: Double
    /// Megabits per second to each output, in the window.
    var megabitsPerOutput: Double
    /// Seconds until all outputs were on air.
    var secondsToLive: Double?
    /// Number of frames that were published, and the smallest number that an output has sent, from the start to the end
    /// of the window.
    var framesPublished: Int?
    var framesSentByTheLeast: Int?
    /// Number of packets that did not reach an output, added up over all outputs.
    var drops: Int?
    var reconnects: Int?
    /// The time from the publishing of a frame until the kernel accepted its last byte, in milliseconds.
    var delayMilliseconds: Delay?
    /// Resident memory: without outputs, in the window, and the difference.
    var residentBefore: Double
    var residentMegabytes: Double
    var residentAdded: Double
    var threads: Int
    var threadsAtMost: Int?
    var descriptors: Int

    struct Delay: Codable {
        var median: Double
        var percentile99: Double
        var maximum: Double
        var samples: Int
    }

    func print() throws {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        Swift.print(String(decoding: try encoder.encode(self), as: UTF8.self))
    }
}

/// CPU time and wall time between two moments.
struct Window {
    private let cpu = ProcessUsage.cpuSeconds
    private let start = ContinuousClock.now

    var seconds: Double { (ContinuousClock.now - start) / .seconds(1) }

    func cpuPerOutputMinute(outputs: Int) -> Double {
        (ProcessUsage.cpuSeconds - cpu) / Double(max(1, outputs)) / (seconds / 60)
    }
}

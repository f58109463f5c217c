// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport
import Testing

@testable import Catalogue
@testable import Upload

/// Compares the schedule of retries with a simple model, for results in any order.
@Suite("Retries of uploads, with random results")
struct RetryModelTests {
    private struct Model {
        var tries: [String: Int] = [:]
        var due: [String: MonotonicInstant] = [:]
        var failingSince: [String: MonotonicInstant] = [:]
        var gate = MonotonicInstant.distantPast
        var failedTries = 0
    }

    private static let names = ["a.mp4", "b.mp4", "c.ts", "2026/d.mp4"]

    @Test("After random results of uploads, the retry intervals, the next file and the failing files equal a model's")
    func model() {
        var random = SeededRandom()
        for _ in 0..<50 {
            var (schedule, model, now) = (RetrySchedule(), Model(), MonotonicInstant.zero)
            for _ in 0..<200 {
                now += .nanoseconds(Int64.random(in: 0...400_000_000_000, using: &random))
                let name = random.pick(Self.names)
                switch Int.random(in: 0..<8, using: &random) {
                case 0:
                    schedule.noteSuccess(of: name)
                    (model.failedTries, model.gate) = (0, .distantPast)
                    (model.tries[name], model.due[name], model.failingSince[name]) = (nil, nil, nil)
                case 1:
                    schedule.forget(name)
                    (model.tries[name], model.due[name], model.failingSince[name]) = (nil, nil, nil)
                case 2:
                    schedule.hurry()
                    (model.failedTries, model.gate) = (0, .distantPast)
                    for name in model.tries.keys { (model.tries[name], model.due[name]) = (0, .distantPast) }
                case 3:
                    schedule.noteFailedTry(of: nil, at: now)
                    model.failedTries += 1
                    model.gate = now + RetryDelay.after(model.failedTries)
                default:
                    let isLater = Int.random(in: 0..<4, using: &random) == 0
                    schedule.noteFailedTry(of: name, isLater: isLater, at: now)
                    model.failedTries += 1
                    model.gate = now + RetryDelay.after(model.failedTries)
                    let tries = model.tries[name, default: 0] + 1
                    model.tries[name] = tries
                    model.due[name] = now + RetryDelay.after(tries)
                    model.failingSince[name] = isLater ? nil : model.failingSince[name] ?? now
                }
                check(schedule, model, at: now)
            }
        }
    }

    private func check(_ schedule: RetrySchedule, _ model: Model, at now: MonotonicInstant) {
        #expect(schedule.failedTries == model.failedTries && schedule.tried == Set(model.tries.keys))
        for name in Self.names { #expect(schedule.tries(of: name) == model.tries[name] ?? 0) }
        #expect(schedule.failing.files == model.failingSince.count)
        #expect(schedule.failing.since == model.failingSince.values.min())
        let pause: Duration? = model.gate > now ? model.gate - now : nil
        #expect(schedule.pause(at: now) == pause)
        let first = model.due.min { ($0.value, $0.key) < ($1.value, $1.key) }
        let isDue = first.map { $0.value <= now } ?? false
        let next: String? = isDue ? first?.key : nil
        #expect(schedule.next(at: now) == next)
        let rest: Duration? = first.map { $0.value > now ? $0.value - now : Duration.zero }
        #expect(schedule.rest(at: now) == rest)
        if let rest {
            #expect(rest <= .seconds(300))
            #expect(schedule.next(at: now + rest) != nil, "a file that waits has its turn")
        }
    }

    @Test("Retry intervals of uploads never decrease, and never exceed five minutes")
    func delays() {
        let delays = (-1...40).map { RetryDelay.after($0) }
        #expect(zip(delays, delays.dropFirst()).allSatisfy { $0 <= $1 })
        #expect(delays.first == .seconds(1) && delays.last == .seconds(300))
        #expect(RetryDelay.after(.max) == .seconds(300))
    }

    @Test("An rclone remote is parsed back as it was written, and a file's path begins with the remote")
    func remotes() throws {
        var random = SeededRandom()
        let pieces = ["archive", ":", "/", "a b", "é", ".", "-", "_", "bucket", ",", "=", "'", "//", "\u{0}", "@", "+"]
        var taken = 0
        for _ in 0..<5000 {
            let text = random.text(of: pieces, upTo: 6)
            let remote: RcloneRemote
            do {
                remote = try RcloneRemote(parsing: text)
            } catch {
                #expect(error.description.hasPrefix("--upload takes"))
                continue
            }
            taken += 1
            #expect(try RcloneRemote(parsing: remote.description) == remote, "\(text)")
            let place = remote.place(of: "2026/a.mp4")
            #expect(place.hasPrefix(remote.description) && place.hasSuffix("2026/a.mp4"), "\(text)")
            #expect(!remote.remote.hasPrefix("-") && remote.remote.hasSuffix(":"), "no option of a command: \(text)")
            #expect(!remote.remote.contains(where: { ",='\"".contains($0) }), "\(text)")
        }
        #expect(taken > 20)
    }

    @Test("If rclone answers with invalid JSON, the file's size and hash on the remote are unknown")
    func answers() {
        var random = SeededRandom()
        let good = Array(#"{"Size": 42, "IsDir": false, "Hashes": {"md5": "ab", "sha1": "cd"}}"#.utf8)
        for _ in 0..<2000 {
            var bytes = good
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let place = Int.random(in: bytes.indices, using: &random)
                bytes[place] = random.pick(Array("{}[]\",:09e-nt \u{0}".utf8))
            }
            let listing = RcloneListing(parsing: String(decoding: bytes, as: UTF8.self))
            #expect(listing.size != nil || listing.hashes.isEmpty)
            _ = RcloneFeatures(parsing: String(decoding: bytes, as: UTF8.self))
        }
        for text in ["", "null", "[]", "42", #"{"Size": "42"}"#, #"{"Size": 1.5}"#, #"{"IsDir": true, "Size": 1}"#] {
            #expect(RcloneListing(parsing: text).size == nil, "\(text)")
        }
    }

    @Test("An upload command gets a file's duration in seconds, with three decimals")
    func durations() {
        var random = SeededRandom()
        for _ in 0..<500 {
            var segment = CatalogueSegment.sample("news_20261121T140310.123Z_000007.mp4")
            segment.duration = Int64.random(in: 0...31_536_000_000_000_000, using: &random)
            let text = CommandDelivery.environment(segment, "/a")["RELAY_DURATION"] ?? ""
            let parts = text.split(separator: ".", omittingEmptySubsequences: false)
            #expect(parts.count == 2 && parts.last?.count == 3, "\(text)")
            let milliseconds = (Int64(parts.joined()) ?? -1)
            #expect(milliseconds == (segment.duration + 500_000) / 1_000_000, "\(text)")
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

import Archive
import Foundation
import Media
import Networking
import Status
import TestSupport
import Testing

@testable import Control

@Suite("Delivery of events to webhooks")
struct WebhookTests {
    private func makeEvent(
        _ id: UInt64, kind: EventKind = .output, level: ControlEvent.Level = .info, text: String = "text"
    ) -> ControlEvent {
        var event = ControlEvent(
            time: UTCTime(milliseconds: 1_795_269_790_123), channel: "main", level: level, kind: kind, text: text)
        event.id = id
        return event
    }

    // MARK: The queue

    @Test("Whatever a webhook's receiver answers, each event is delivered in order, dropped or still queued")
    func queue() {
        var random = SeededRandom()
        for _ in 0..<30 {
            var queue = WebhookQueue()
            var (next, taken, missed): (UInt64, UInt64, UInt64) = (1, 0, 0)
            var arrived: [UInt64] = []
            let patience = Int.random(in: 1...12, using: &random)
            for _ in 0..<400 {
                if Int.random(in: 0..<patience, using: &random) == 0 {
                    let new = UInt64.random(in: 0...300, using: &random)
                    let lost = Int.random(in: 0..<10, using: &random) == 0 ? UInt64(7) : 0
                    queue.append((0..<new).map { makeEvent(next + $0) }, missed: lost)
                    (next, taken, missed) = (next + new, taken + new, missed + lost)
                }
                guard let event = queue.next else { continue }
                let told = queue.leftOut
                let outcome = random.pick([.delivered, .delivered, .failed, .refused] as [WebhookQueue.Outcome])
                let wait = queue.tried(event, outcome, told: told)
                if outcome == .delivered {
                    arrived.append(event.id)
                    #expect(wait == .zero && queue.failures == 0 && queue.leftOut == 0)
                } else {
                    #expect(wait >= .seconds(1) && wait <= .seconds(60))
                }
                #expect(queue.count <= WebhookQueue.limit)
                #expect(taken + missed == queue.delivered + queue.leftOutInAll + UInt64(queue.count))
            }
            #expect(zip(arrived, arrived.dropFirst()).allSatisfy { $0 < $1 })
            #expect(UInt64(arrived.count) == queue.delivered)
            // If the receiver accepts every event, it gets all waiting events.
            while let first = queue.next {
                let told = queue.leftOut
                _ = queue.tried(first, .delivered, told: told)
            }
            #expect(queue.count == 0 && taken + missed == queue.delivered + queue.leftOutInAll)
        }
    }

    @Test("Retry intervals of a webhook double from 1 s to 60 s, and are 1 s again after a delivery")
    func waits() {
        var queue = WebhookQueue()
        queue.append([makeEvent(1), makeEvent(2)])
        let waits = (0..<9).map { _ in queue.tried(makeEvent(1), .failed, told: 0) }
        #expect(waits == [1, 2, 4, 8, 16, 32, 60, 60, 60].map { Duration.seconds($0) })
        for _ in 0..<100 {
            let wait = queue.tried(makeEvent(1), .failed, told: 0)
            #expect(wait == .seconds(60))
        }
        let delivered = queue.tried(makeEvent(1), .delivered, told: 0)
        let failed = queue.tried(makeEvent(2), .failed, told: 0)
        #expect(delivered == .zero && failed == .seconds(1))
    }

    @Test("An event that a webhook's receiver refused five times is dropped, so that the next event is delivered")
    func refused() {
        var queue = WebhookQueue()
        queue.append([makeEvent(1), makeEvent(2)])
        for attempt in 1...5 {
            #expect(queue.next?.id == 1)
            _ = queue.tried(makeEvent(1), attempt == 3 ? .failed : .refused, told: 0)
        }
        #expect(queue.next?.id == 1, "an attempt that failed is no refusal")
        _ = queue.tried(makeEvent(1), .refused, told: 0)
        #expect(queue.next?.id == 2 && queue.leftOut == 1)
        for _ in 0..<4 { _ = queue.tried(makeEvent(2), .refused, told: 1) }
        #expect(queue.next?.id == 2, "each event has its own attempts")
        _ = queue.tried(makeEvent(2), .delivered, told: 1)
        #expect(queue.leftOut == 0 && queue.leftOutInAll == 1 && queue.delivered == 1 && queue.failed == 10)
    }

    @Test("If a full queue drops the event that is being delivered, the result of that delivery removes no other event")
    func inFlight() {
        var queue = WebhookQueue()
        queue.append((1...500).map { makeEvent($0) })
        queue.append([makeEvent(501)])
        #expect(queue.next?.id == 2)
        _ = queue.tried(makeEvent(1), .delivered, told: 0)
        #expect(queue.next?.id == 2 && queue.count == 500)
        for _ in 0..<10 { _ = queue.tried(makeEvent(1), .refused, told: 0) }
        #expect(queue.next?.id == 2)
    }

    @Test(
        "An event that a full queue drops during its delivery counts once, as delivered if it arrived, else as dropped"
    )
    func countedOnce() {
        var random = SeededRandom()
        for _ in 0..<200 {
            var queue = WebhookQueue()
            queue.append((1...500).map { makeEvent($0) }, missed: 3)
            let new = UInt64.random(in: 0...600, using: &random)
            let told = queue.leftOut
            queue.append((0..<new).map { makeEvent(501 + $0) })
            let outcome = random.pick([.delivered, .failed, .refused] as [WebhookQueue.Outcome])
            _ = queue.tried(makeEvent(1), outcome, told: told)
            #expect(503 + new == queue.delivered + queue.leftOutInAll + UInt64(queue.count))
            // The next message contains this number: how many events its receiver will never get.
            let dropped = queue.next.map { $0.id - 1 } ?? 0
            #expect(queue.leftOut == (outcome == .delivered ? dropped - 1 : dropped + 3))
        }
    }

    // MARK: What is sent

    @Test("A webhook gets events of its kinds and its minimum level, and never events about webhooks")
    func settings() throws {
        var settings = WebhookSettings(try HTTPEndpoint("http://127.0.0.1:1/hook"))
        for kind in EventKind.allCases { #expect(settings.takes(makeEvent(1, kind: kind)) == (kind != .webhook)) }
        #expect(!settings.takes(makeEvent(1, kind: .webhook, level: .error)))
        settings.kinds = [.alarm, .webhook]
        settings.level = .warning
        #expect(!settings.takes(makeEvent(1, kind: .webhook, level: .error)))
        for level in ControlEvent.Level.allCases {
            #expect(settings.takes(makeEvent(1, kind: .alarm, level: level)) == (level >= .warning))
            #expect(!settings.takes(makeEvent(1, kind: .output, level: level)))
        }
        #expect(ControlEvent.Level.allCases == ControlEvent.Level.allCases.shuffled().sorted())
    }

    @Test("A webhook's delivery contains the event, the host that sent it, and the number of earlier dropped events")
    func message() throws {
        let time = UTCTime(milliseconds: 1_795_269_790_123)
        let plain = WebhookMessage(event: makeEvent(7), host: "box", startedAt: time, leftOut: 0)
        #expect(
            String(decoding: JSON.encode(plain), as: UTF8.self)
                == #"{"channel":"main","host":"box","id":7,"kind":"output","level":"info","source":"relay","#
                + #""startedAt":"2026-11-21T14:03:10.123Z","text":"text","time":"2026-11-21T14:03:10.123Z"}"#)
        let behind = WebhookMessage(
            event: makeEvent(8, text: "line\nbreak \"quoted\" \u{1F3A5}"), host: "", startedAt: time, leftOut: 3)
        let object = try JSONSerialization.jsonObject(with: Data(JSON.encode(behind))) as? [String: Any]
        #expect(object?["leftOut"] as? Int == 3 && object?["text"] as? String == "line\nbreak \"quoted\" \u{1F3A5}")
    }

    // HMAC-SHA256 of "1795269790.{}" with the key "secret", computed by Python's hmac.
    @Test("A webhook's signature is the HMAC-SHA256 of time and body, and changes with both and with the secret")
    func signature() {
        let body = Array("{}".utf8)
        let text = WebhookSignature.text(of: body, at: "1795269790", secret: "secret")
        #expect(text == "sha256=cca941c80618ea1e2f41159fdffdd6bb87cc6aeac50c05d4a882158bfe62b767")
        let others = [
            WebhookSignature.text(of: body + [32], at: "1795269790", secret: "secret"),
            WebhookSignature.text(of: body, at: "1795269791", secret: "secret"),
            WebhookSignature.text(of: body, at: "1795269790", secret: "secret2"),
            WebhookSignature.text(of: [], at: "1795269790", secret: "secret"), text,
        ]
        #expect(Set(others).count == 5)
        for other in others { #expect(other?.utf8.count == 7 + 64) }
    }
}

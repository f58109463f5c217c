// SPDX-License-Identifier: Apache-2.0

import Archive
import Channel
import Foundation
import Logging
import Media
import Networking
import Status
import TestSupport
import Testing

@testable import Control
@testable import Relay

@Suite("Webhooks")
struct WebhookTests {
    private func event(_ id: UInt64, kind: EventKind = .output, level: ControlEvent.Level = .warning) -> ControlEvent {
        var event = ControlEvent(channel: "a", level: level, kind: kind, text: "text")
        event.id = id
        return event
    }

    @Test("Queued events are delivered to a webhook in order, with growing intervals between failed attempts")
    func order() {
        var queue = WebhookQueue()
        queue.append([event(1), event(2)])
        let waits = (0..<8).map { _ in queue.tried(event(1), .failed, told: 0) }
        #expect(waits == [1, 2, 4, 8, 16, 32, 60, 60].map { .seconds($0) })
        #expect(queue.next?.id == 1 && queue.failures == 8)
        #expect(queue.tried(event(1), .delivered, told: 0) == .zero)
        #expect(queue.next?.id == 2 && queue.failures == 0 && queue.delivered == 1 && queue.failed == 8)
    }

    @Test("If a webhook's event queue is full, the oldest events are dropped, counted, and reported once")
    func bound() {
        var queue = WebhookQueue()
        queue.append((1...UInt64(WebhookQueue.limit + 3)).map { event($0) }, missed: 2)
        #expect(queue.count == WebhookQueue.limit && queue.next?.id == 4 && queue.leftOut == 5)
        // An event that was dropped from the queue while it was being sent has arrived, so no other event is removed
        // for it.
        _ = queue.tried(event(3), .delivered, told: 5)
        #expect(queue.next?.id == 4 && queue.leftOut == 0 && queue.leftOutInAll == 4 && queue.delivered == 1)
    }

    @Test(
        "If a webhook's receiver refuses an event, later ones are still delivered; without an answer, none is lost")
    func refusal() {
        var queue = WebhookQueue()
        queue.append([event(1), event(2)])
        for _ in 0..<100 { _ = queue.tried(event(1), .failed, told: 0) }
        for _ in 1..<WebhookQueue.refusals { _ = queue.tried(event(1), .refused, told: 0) }
        #expect(queue.next?.id == 1)
        _ = queue.tried(event(1), .refused, told: 0)
        #expect(queue.next?.id == 2 && queue.leftOut == 1)
    }

    @Test("A webhook selects events by kind and level, and never gets events about webhooks")
    func choice() throws {
        var settings = WebhookSettings(try HTTPEndpoint("https://host/a"))
        #expect(settings.takes(event(1, level: .info)) && !settings.takes(event(1, kind: .webhook)))
        settings.kinds = [.alarm]
        settings.level = .warning
        #expect(settings.takes(event(1, kind: .alarm, level: .error)) && !settings.takes(event(1)))
        #expect(!settings.takes(event(1, kind: .alarm, level: .notice)))
        let failure = ControlEvent(.warning, "a webhook failed", ["webhook": "host", "reason": "x"])
        #expect(failure?.kind == .webhook)
        #expect(ControlEvent(.warning, "x", ["output": "a"])?.kind == .output)
        for kind in EventKind.allCases {
            #expect(ControlEvent(.warning, "x", ["output": "a", "event": "\(kind.rawValue)"])?.kind == kind)
        }
        #expect(ControlEvent(.warning, "x", ["export": "e1", "channel": "a"])?.kind == .export)
        #expect(ControlEvent(.warning, "x", ["segment": "a.mp4", "event": "upload"])?.kind == .upload)
        #expect(ControlEvent(.info, "x", ["channel": "a", "event": "status"]) == nil)
        #expect(ControlEvent(.info, "segment finished", ["segment": "a.mp4"])?.kind == .recorder)
    }

    @Test("A webhook's signature is the HMAC-SHA256 of time, dot and body, equal to that of another program")
    func signature() {
        #expect(
            WebhookSignature.text(of: Array("{\"a\":1}".utf8), at: "1700000000", secret: "hook-secret-123")
                == "sha256=f35dbef603e3182342638227452502a78cd3f705c938f634c155610dd9586d59")
    }

    @Test("A webhook's delivery has the event, its sender, and the number of dropped events if it is above 0")
    func message() throws {
        let message = { (leftOut: UInt64) in
            String(
                decoding: JSON.encode(
                    WebhookMessage(
                        event: event(7), host: "studio", startedAt: .init(milliseconds: 0), leftOut: leftOut)),
                as: UTF8.self)
        }
        #expect(message(0).hasPrefix("{\"channel\":\"a\",\"host\":\"studio\",\"id\":7,\"kind\":\"output\""))
        #expect(message(0).contains("\"source\":\"relay\"") && !message(0).contains("leftOut"))
        #expect(message(3).contains("\"leftOut\":3"))
    }

    @Test("The options of --webhook follow the #, and references to secrets are replaced after parsing")
    func flag() throws {
        var keys = ControlKeys()
        keys.webhooks = [
            try .init(flag: "https://host/in/${K}#secret=${S},events=alarm+output,level=error"),
            try .init(flag: "http://127.0.0.1:8080"),
        ]
        let settings = try keys.settings(secrets: .init { ["K": "key", "S": "a,secret#of=mine"][$0] })
        #expect(settings.webhooks[0].endpoint == (try HTTPEndpoint("https://host/in/key")))
        #expect(settings.webhooks[0].secret == "a,secret#of=mine" && settings.webhooks[0].level == .error)
        #expect(settings.webhooks[0].kinds == [.alarm, .output] && settings.webhooks[1].kinds.isEmpty)
        #expect(settings.webhooks[0].endpoint.name == "host")
    }

    @Test(
        "An invalid webhook is reported with the key that is wrong, and without its address and secret",
        arguments: [
            ("ftp://host/topsecret", nil, nil, nil, "webhooks[0].url"),
            ("https://topsecret host", nil, nil, nil, "webhooks[0].url"),
            ("", nil, nil, nil, "webhooks[0]"),
            ("https://host", "topsecret", nil, nil, "webhooks[0].secret"),
            ("https://host", nil, "alarms", nil, "webhooks[0].events"),
            ("https://host", nil, nil, "loud", "webhooks[0].level"),
        ] as [(String, String?, String?, String?, String)])
    func faults(url: String, secret: String?, kind: String?, level: String?, key: String) {
        var keys = ControlKeys()
        keys.webhooks = [.init(url: url, secret: secret, events: kind.map { [$0] } ?? [], level: level)]
        let fault = #expect(throws: ControlKeys.Fault.self) { try keys.settings() }
        #expect(fault?.key == key && fault?.text.contains("topsecret") == false)
    }

    @Test("A secret after the # of a webhook's address is hidden, even if the address has no path")
    func mask() {
        let bytes = Array("https://host#secret=abc".utf8)
        #expect(ArgumentMask.secretRange(in: bytes) == 13..<bytes.count)
    }
}

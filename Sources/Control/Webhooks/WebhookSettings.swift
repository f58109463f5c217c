// SPDX-License-Identifier: Apache-2.0

package import Networking
package import Status

/// Who is told of events by HTTP, and of which.
package struct WebhookSettings: Sendable, Equatable {
    /// Where events are sent.
    package var endpoint: HTTPEndpoint
    /// What deliveries are signed with; nil for none. Not to be shown.
    package var secret: String?
    /// The kinds of events that are sent; all if it is empty.
    package var kinds: Set<String> = []
    /// What matters less is not sent.
    package var level = ControlEvent.Level.info
    /// Whose certificate the receiver may show.
    package var trust = TLSVerification.system

    /// All events, unsigned, to `endpoint`.
    package init(_ endpoint: HTTPEndpoint) { self.endpoint = endpoint }

    /// Whether `event` is sent. What hooks themselves have to say is sent by none: it would never end.
    func takes(_ event: ControlEvent) -> Bool {
        event.kind != ControlEvent.webhookKind && event.level >= level && (kinds.isEmpty || kinds.contains(event.kind))
    }
}

/// What a webhook did so far: a snapshot, without secrets.
struct WebhookStatus: Sendable, Equatable {
    /// The receiver's host.
    var name: String
    /// Events that the receiver took.
    var delivered: UInt64 = 0
    /// Attempts that failed.
    var failed: UInt64 = 0
    /// Events that were never delivered, because too many waited or the receiver refused them.
    var leftOut: UInt64 = 0
    /// Events that wait.
    var waiting = 0
    /// Why the last attempt failed; nil if it did not.
    var lastError: String?
}

extension ControlEvent {
    /// What an event can be about, but for webhooks themselves.
    package static let kinds = [
        "alarm", "channel", "export", "input", "marker", "operator", "output", "recorder", "relay", "storage", "upload",
    ]
    /// The kind of an event about a webhook.
    package static let webhookKind = "webhook"
}

extension ControlEvent.Level: Comparable, CaseIterable {
    package static var allCases: [Self] { [.info, .notice, .warning, .error] }

    package static func < (left: Self, right: Self) -> Bool {
        (allCases.firstIndex(of: left) ?? 0) < (allCases.firstIndex(of: right) ?? 0)
    }
}

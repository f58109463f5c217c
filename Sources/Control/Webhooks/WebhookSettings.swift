// SPDX-License-Identifier: Apache-2.0

package import Media
package import Networking
package import Status

/// A receiver of events by HTTP, and the choice of events that it gets.
package struct WebhookSettings: Sendable, Equatable {
    /// The URL to which events are sent.
    package var endpoint: HTTPEndpoint
    /// The secret by which messages are signed; nil for no signature. It must not be shown.
    package var secret: String?
    /// The kinds of events that can be sent, which do not include the events about webhooks.
    package static let allKinds = EventKind.allCases.filter { $0 != .webhook }

    /// The kinds of events that are sent; if it is empty, all kinds are sent.
    package var kinds: Set<EventKind> = []
    /// The lowest level of events that are sent.
    package var level = ControlEvent.Level.info
    /// How the receiver's certificate is verified.
    package var trust = TLSVerification.system

    /// Settings that send all events to `endpoint`, without a signature.
    package init(_ endpoint: HTTPEndpoint) { self.endpoint = endpoint }

    /// Whether `event` is sent. Events about webhooks are never sent, because each delivery would cause another event.
    func takes(_ event: ControlEvent) -> Bool {
        event.kind != .webhook && event.level >= level && (kinds.isEmpty || kinds.contains(event.kind))
    }
}

/// A snapshot of a webhook's status, without secrets.
struct WebhookStatus: Sendable, Equatable {
    /// The receiver's host, with the port if the address names one. A number follows if an earlier webhook has the same
    /// name.
    var name: String
    /// The number of events that the receiver accepted.
    var delivered: UInt64 = 0
    /// The number of failed attempts.
    var failed: UInt64 = 0
    /// The number of events that were never delivered, because too many waited or the receiver refused them.
    var leftOut: UInt64 = 0
    /// The number of waiting events.
    var waiting = 0
    /// Why the last attempt failed; nil if it succeeded.
    var lastError: String?
}

extension ControlEvent.Level: Comparable, CaseIterable {
    package static var allCases: [Self] { [.info, .notice, .warning, .error] }

    package static func < (left: Self, right: Self) -> Bool {
        (allCases.firstIndex(of: left) ?? 0) < (allCases.firstIndex(of: right) ?? 0)
    }
}

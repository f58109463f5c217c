// SPDX-License-Identifier: Apache-2.0

/// The subject of an event. The raw values are the names in the API, in webhooks and on the page.
package enum EventKind: String, Sendable, Codable, CaseIterable {
    case alarm, channel, export, input, marker
    /// An action of an operator.
    case `operator`
    case output, recorder
    /// The process, or a subject that has no kind of its own.
    case relay
    case storage, upload
    /// A webhook. Webhooks do not send these events.
    case webhook
}

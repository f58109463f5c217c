// SPDX-License-Identifier: Apache-2.0

/// What an event is about, as the API, the webhooks and the page name it.
package enum EventKind: String, Sendable, Codable, CaseIterable {
    case alarm, channel, export, input, marker
    /// Something that an operator did.
    case `operator`
    case output, recorder
    /// The process, or anything that no other kind names.
    case relay
    case storage, upload
    /// A webhook itself. Webhooks do not send such events.
    case webhook
}

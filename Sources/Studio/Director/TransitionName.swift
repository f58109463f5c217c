// SPDX-License-Identifier: Apache-2.0

package import Kernels

/// What a transition is called in requests, run-downs, logs and events.
package enum TransitionName: Sendable, Equatable, CustomStringConvertible {
    /// A transition without a stinger.
    case kind(Transition.Kind)
    /// A transition by the stinger with this name.
    case stinger(String)

    /// The type of all stingers in requests and run-downs.
    static let stingerType = "stinger"

    /// Creates the name of a transition of this kind, or of the one by `stinger` unless that is nil.
    init(_ kind: Transition.Kind, stinger: String?) { self = stinger.map { .stinger($0) } ?? .kind(kind) }

    /// The transition's type in requests and run-downs.
    var type: String {
        switch self {
        case .kind(let kind): kind.rawValue
        case .stinger: Self.stingerType
        }
    }

    /// The name in logs and events, such as `fade` or `stinger wipe`.
    package var description: String {
        switch self {
        case .kind(let kind): kind.rawValue
        case .stinger(let name): "\(Self.stingerType) \(name)"
        }
    }
}

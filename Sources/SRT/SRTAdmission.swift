// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Decides which receivers a listening output takes, while they call.
///
/// The library asks in its receiving thread, which serves every socket of the port: nothing here waits.
package final class SRTAdmission: Sendable {
    private struct State {
        var callers = 0
        var rejections: UInt64 = 0
        var last: SRTRejection?

        mutating func count(_ rejection: SRTRejection) {
            rejections += 1
            last = rejection
        }
    }

    private let wanted: SRTStreamID?
    private let maximum: Int
    private let state = Mutex(State())

    /// Takes at most `maximum` receivers at a time, and if `wanted` is given those that ask for it only.
    package init(wanted: SRTStreamID?, maximum: Int) {
        self.wanted = wanted
        self.maximum = maximum
    }

    /// Receivers on air now, told by who accepts them.
    package func setCallers(_ count: Int) { state.withLock { $0.callers = count } }

    /// How many were sent away so far, and why the last one was.
    package var rejections: (count: UInt64, last: SRTRejection?) { state.withLock { ($0.rejections, $0.last) } }

    /// Whether a receiver that asks for `text` may come, or why not.
    func judge(_ text: String) -> SRTRejection? {
        state.withLock { state in
            let rejection = refusal(of: SRTStreamID(text), beside: state.callers)
            if let rejection { state.count(rejection) }
            return rejection
        }
    }

    /// Counts a receiver that was let in beside others at once, and had to be sent away after all.
    package func countOverload() { state.withLock { $0.count(.overload) } }

    private func refusal(of asked: SRTStreamID, beside callers: Int) -> SRTRejection? {
        if asked.mode == .publish { return .badMode }
        if !asked.isStream { return .notSupported }
        if let wanted, !wanted.isAnswered(by: asked) { return .notFound }
        return callers >= maximum ? .overload : nil
    }
}

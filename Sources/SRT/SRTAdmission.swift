// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Decides during the handshake which receivers a listening output accepts.
///
/// libsrt calls this on its receiving thread, which serves every socket of the port. Nothing here may therefore block.
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

    /// Accepts at most `maximum` receivers at a time. If `wanted` is given, accepts only receivers that request this
    /// stream ID.
    package init(wanted: SRTStreamID?, maximum: Int) {
        self.wanted = wanted
        self.maximum = maximum
    }

    /// Sets the number of receivers that are on air. The code that accepts receivers calls this.
    package func setCallers(_ count: Int) { state.withLock { $0.callers = count } }

    /// The number of rejected callers, and the reason for the last rejection.
    package var rejections: (count: UInt64, last: SRTRejection?) { state.withLock { ($0.rejections, $0.last) } }

    /// Returns why a receiver with the stream ID `text` is rejected; nil if it is accepted.
    func judge(_ text: String) -> SRTRejection? {
        state.withLock { state in
            let rejection = refusal(of: SRTStreamID(text), beside: state.callers)
            if let rejection { state.count(rejection) }
            return rejection
        }
    }

    /// Counts a receiver that was accepted and then closed, because too many receivers were connected by then.
    package func countOverload() { state.withLock { $0.count(.overload) } }

    private func refusal(of asked: SRTStreamID, beside callers: Int) -> SRTRejection? {
        if asked.mode == .publish { return .badMode }
        if !asked.isStream { return .notSupported }
        if let wanted, !wanted.isAnswered(by: asked) { return .notFound }
        return callers >= maximum ? .overload : nil
    }
}

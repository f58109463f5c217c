// SPDX-License-Identifier: Apache-2.0

internal import CSRT
internal import Synchronization

/// Decides which receivers a listening output takes, while they call.
///
/// The library asks in its receiving thread, which serves every socket of the port: nothing here waits.
package final class SRTAdmission: Sendable {
    /// What receivers were sent away with: 1000 and the HTTP code that says the same (libsrt's `access_control.h`).
    package enum Rejection: Int32, Sendable {
        /// There are as many callers as the output takes.
        case overload = 1402
        /// No stream of that name.
        case notFound = 1404
        /// The caller wants to send; this output does.
        case badMode = 1405
        /// The caller wants a file transfer.
        case notSupported = 1415
    }

    private struct State {
        var callers = 0
        var rejections: UInt64 = 0
        var last: Rejection?

        mutating func count(_ rejection: Rejection) {
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
    package var rejections: (count: UInt64, last: Rejection?) { state.withLock { ($0.rejections, $0.last) } }

    /// Whether a receiver that asks for `text` may come, or why not.
    func judge(_ text: String) -> Rejection? {
        state.withLock { state in
            let rejection = refusal(of: SRTStreamID(text), beside: state.callers)
            if let rejection { state.count(rejection) }
            return rejection
        }
    }

    /// Counts a receiver that was let in beside others at once, and had to be sent away after all.
    package func countOverload() { state.withLock { $0.count(.overload) } }

    private func refusal(of asked: SRTStreamID, beside callers: Int) -> Rejection? {
        if asked.mode == .publish { return .badMode }
        if !asked.isStream { return .notSupported }
        if let wanted, !wanted.isAnswered(by: asked) { return .notFound }
        return callers >= maximum ? .overload : nil
    }

    /// What the library calls: `srt_listen_callback_fn`.
    static let callback:
        @convention(c) (
            UnsafeMutableRawPointer?, SRTSOCKET, CInt, UnsafePointer<sockaddr>?, UnsafePointer<CChar>?
        ) -> CInt = { opaque, socket, _, _, streamID in
            guard let opaque else { return 0 }
            let admission = Unmanaged<SRTAdmission>.fromOpaque(opaque).takeUnretainedValue()
            guard let rejection = admission.judge(streamID.map { String(cString: $0) } ?? "") else { return 0 }
            srt_setrejectreason(socket, rejection.rawValue)
            return -1
        }
}

// SPDX-License-Identifier: Apache-2.0

internal import CSRT

/// Why a caller was sent away: 1000 and the HTTP code that says the same (libsrt's `access_control.h`).
package enum SRTRejection: Int32, Sendable {
    /// There are as many callers as we take.
    case overload = 1402
    /// No stream of that name.
    case notFound = 1404
    /// The caller wants to send, and so do we; or both want to receive.
    case badMode = 1405
    /// Somebody else sends the stream already.
    case conflict = 1409
    /// The caller wants a file transfer.
    case notSupported = 1415
    /// What the stream asks of its connection could not be set.
    case internalError = 1500
}

/// Somebody who calls a listening socket: his socket, which is not connected yet, and what he asks for.
struct SRTCall {
    let socket: SRTSOCKET
    let streamID: String
}

/// What a listening socket asks about each caller. The library asks in its receiving thread, which serves every socket of
/// the port, so the answer must not wait for anything. May be asked again about the same caller.
final class SRTListenHook: Sendable {
    /// Nil lets the caller in, if his passphrase is right.
    let judge: @Sendable (SRTCall) -> SRTRejection?

    init(_ judge: @escaping @Sendable (SRTCall) -> SRTRejection?) { self.judge = judge }

    /// What the library calls: `srt_listen_callback_fn`, with an unretained hook as its opaque pointer.
    static let callback:
        @convention(c) (
            UnsafeMutableRawPointer?, SRTSOCKET, CInt, UnsafePointer<sockaddr>?, UnsafePointer<CChar>?
        ) -> CInt = { opaque, socket, _, _, streamID in
            guard let opaque else { return 0 }
            let hook = Unmanaged<SRTListenHook>.fromOpaque(opaque).takeUnretainedValue()
            let call = SRTCall(socket: socket, streamID: streamID.map { String(cString: $0) } ?? "")
            guard let rejection = hook.judge(call) else { return 0 }
            srt_setrejectreason(socket, rejection.rawValue)
            return -1
        }
}

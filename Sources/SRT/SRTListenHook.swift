// SPDX-License-Identifier: Apache-2.0

internal import CSRT
internal import Glibc
internal import Networking

/// Why a caller was rejected. The value is 1000 plus the corresponding HTTP status (libsrt's `access_control.h`).
package enum SRTRejection: Int32, Sendable {
    /// The maximum number of callers is connected.
    case overload = 1402
    /// There is no stream of this name.
    case notFound = 1404
    /// Both sides want to send, or both want to receive.
    case badMode = 1405
    /// Another caller already sends the stream.
    case conflict = 1409
    /// The caller wants a file transfer.
    case notSupported = 1415
    /// Too many callers from the same network asked for streams that are not here.
    case tooMany = 1429
    /// The stream's options could not be set on the connection.
    case internalError = 1500
}

/// A caller of a listening socket: the caller's socket, which is not connected yet, and its request.
struct SRTCall {
    let socket: SRTSOCKET
    /// The caller's address; nil if the library does not tell it.
    let address: IPAddress?
    let streamID: String
}

/// Decides for a listening socket about each caller. The library calls it on its receiving thread, which serves every
/// socket of the port, so it must not block. It may be called several times for the same caller.
final class SRTListenHook: Sendable {
    /// Returns nil to accept the caller; the library then still checks its passphrase.
    let judge: @Sendable (SRTCall) -> SRTRejection?

    init(_ judge: @escaping @Sendable (SRTCall) -> SRTRejection?) { self.judge = judge }

    /// The library's callback: `srt_listen_callback_fn`, with an unretained hook as its opaque pointer.
    static let callback:
        @convention(c) (
            UnsafeMutableRawPointer?, SRTSOCKET, CInt, UnsafePointer<sockaddr>?, UnsafePointer<CChar>?
        ) -> CInt = { opaque, socket, _, address, streamID in
            guard let opaque else { return 0 }
            let hook = Unmanaged<SRTListenHook>.fromOpaque(opaque).takeUnretainedValue()
            let call = SRTCall(
                socket: socket, address: address.flatMap { ipAddress(UnsafeRawPointer($0)) },
                streamID: streamID.map { String(cString: $0) } ?? "")
            guard let rejection = hook.judge(call) else { return 0 }
            srt_setrejectreason(socket, rejection.rawValue)
            return -1
        }

    /// The IP address in a socket address; nil if the socket address is of another family. Reads the bytes of the
    /// `sockaddr`, because the fields of that type may belong to another C module than Glibc.
    private static func ipAddress(_ raw: UnsafeRawPointer) -> IPAddress? {
        // The IP address is behind the family and the port, and in IPv6 also behind the flow label (ip(7), ipv6(7)).
        switch CInt(raw.loadUnaligned(as: sa_family_t.self)) {
        case AF_INET: IPAddress(bytes: Array(UnsafeRawBufferPointer(start: raw + 4, count: 4)))
        case AF_INET6: IPAddress(bytes: Array(UnsafeRawBufferPointer(start: raw + 8, count: 16)))
        default: nil
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

internal import CSRT
internal import Glibc
internal import Networking

/// The reason why a caller was rejected. The raw value is the code for it in libsrt's `access_control.h`, which in most
/// cases is 1000 plus the corresponding HTTP status.
package enum SRTRejection: Int32, Sendable {
    /// The maximum number of callers is already connected.
    case overload = 1402
    /// There is no stream with the requested name.
    case notFound = 1404
    /// Both sides want to send, or both want to receive.
    case badMode = 1405
    /// Another caller is already sending the stream.
    case conflict = 1409
    /// The caller requests a file transfer.
    case notSupported = 1415
    /// Too many wrong stream IDs or passphrases came from the caller's network.
    case tooMany = 1429
    /// The options of the stream could not be set on the connection.
    case internalError = 1500
}

/// A caller at a listening socket: the caller's socket, which is not connected yet, and the caller's request.
struct SRTCall {
    let socket: SRTSOCKET
    /// The IP address of the caller; nil if libsrt does not report it.
    let address: IPAddress?
    let streamID: String
}

/// Decides about each caller at a listening socket. libsrt calls ``judge`` on its receiving thread, which serves every
/// socket of the port, so ``judge`` must not block. libsrt may call it several times for the same caller.
final class SRTListenHook: Sendable {
    /// Returns nil to accept the caller, or the reason for the rejection. libsrt still checks the passphrase of an
    /// accepted caller.
    let judge: @Sendable (SRTCall) -> SRTRejection?

    init(_ judge: @escaping @Sendable (SRTCall) -> SRTRejection?) { self.judge = judge }

    /// The C function that libsrt calls (`srt_listen_callback_fn`). Its opaque pointer points to an ``SRTListenHook``,
    /// which the function does not retain.
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

    /// Returns the IP address in the socket address at `raw`; nil if its family is neither IPv4 nor IPv6. Reads the
    /// bytes of the `sockaddr` directly, because its fields may belong to another C module than Glibc.
    private static func ipAddress(_ raw: UnsafeRawPointer) -> IPAddress? {
        // The IP address follows the family and the port, and in IPv6 also the flow label (ip(7), ipv6(7)).
        switch CInt(raw.loadUnaligned(as: sa_family_t.self)) {
        case AF_INET: IPAddress(bytes: Array(UnsafeRawBufferPointer(start: raw + 4, count: 4)))
        case AF_INET6: IPAddress(bytes: Array(UnsafeRawBufferPointer(start: raw + 8, count: 16)))
        default: nil
        }
    }
}

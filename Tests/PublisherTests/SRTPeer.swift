// SPDX-License-Identifier: Apache-2.0

import CSRT
import Glibc
import Synchronization

/// A receiver that uses libsrt directly: listens on the loopback interface, accepts one caller, and stores the received
/// bytes. The peer never blocks: a test polls it until it has the expected data.
final class SRTPeer: Sendable {
    /// A failed call of the library, with the library's reason.
    struct Failure: Error { let operation, reason: String }

    private struct State {
        var caller: SRTSOCKET?
        var bytes: [UInt8] = []
    }

    /// Shuts the library down before the process ends, because its threads crash when libraries are unloaded.
    private static let library: Void = {
        srt_startup()
        srt_setloglevel(LOG_CRIT)
        atexit { _ = srt_cleanup() }
    }()

    let port: UInt16
    private let listener: SRTSOCKET
    private let state = Mutex(State())

    /// Listens at `port`, or at a port that the library chooses, with a latency of `latency` milliseconds. If
    /// `rejection` is not nil, callers are refused with that code.
    init(
        port: UInt16 = 0, latency: CInt = 50, passphrase: String? = nil, rejection: Int = 0
    ) throws(Failure) {
        _ = Self.library
        listener = srt_create_socket()
        Self.set(listener, SRTO_RCVSYN, false)
        Self.set(listener, SRTO_RCVLATENCY, latency)
        if let passphrase { srt_setsockflag(listener, SRTO_PASSPHRASE, passphrase, CInt(passphrase.utf8.count)) }
        if rejection > 0 {
            srt_listen_callback(listener, Self.refuse, UnsafeMutableRawPointer(bitPattern: rejection))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
        var length = CInt(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { [listener] pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                srt_bind(listener, generic, length) == 0 && srt_getsockname(listener, generic, &length) == 0
            }
        }
        self.port = UInt16(bigEndian: address.sin_port)
        guard isBound, srt_listen(listener, 1) == 0 else { throw Self.failure("listen") }
    }

    deinit {
        hangUp()
        srt_close(listener)
    }

    /// libsrt calls this for each caller. The code of the refusal is passed in place of a pointer.
    private static let refuse:
        @convention(c) (
            UnsafeMutableRawPointer?, SRTSOCKET, CInt, UnsafePointer<sockaddr>?, UnsafePointer<CChar>?
        ) -> CInt = { code, socket, _, _, _ in
            srt_setrejectreason(socket, CInt(Int(bitPattern: code)))
            return -1
        }

    private static func failure(_ operation: String) -> Failure {
        Failure(operation: operation, reason: String(cString: srt_getlasterror_str()))
    }

    private static func set<Value>(_ socket: SRTSOCKET, _ option: SRT_SOCKOPT, _ value: Value) {
        _ = withUnsafeBytes(of: value) { srt_setsockflag(socket, option, $0.baseAddress, CInt($0.count)) }
    }

    /// Whether a caller was accepted.
    var isCalled: Bool {
        state.withLock { state in
            if state.caller == nil, case let socket = srt_accept(listener, nil, nil), socket != SRT_INVALID_SOCK {
                Self.set(socket, SRTO_RCVSYN, false)
                state.caller = socket
            }
            return state.caller != nil
        }
    }

    /// All bytes that the library has delivered so far.
    var received: [UInt8] {
        state.withLock { state in
            var message = [CChar](repeating: 0, count: 1500)
            while let caller = state.caller, case let count = srt_recvmsg(caller, &message, 1500), count > 0 {
                state.bytes += message.prefix(Int(count)).map { UInt8(bitPattern: $0) }
            }
            return state.bytes
        }
    }

    /// The number of data packets without retransmissions; nil without a caller.
    var uniquePackets: Int64? {
        guard let caller = state.withLock({ $0.caller }) else { return nil }
        var statistics = SRT_TRACEBSTATS()
        return srt_bistats(caller, &statistics, 0, 1) == 0 ? statistics.pktRecvUniqueTotal : nil
    }

    /// Whether the caller has ended the connection.
    var isClosed: Bool {
        guard let caller = state.withLock({ $0.caller }) else { return false }
        return srt_getsockstate(caller) != SRTS_CONNECTED
    }

    /// Closes the connection at once.
    func hangUp() {
        guard let caller = state.withLock({ $0.caller.take() }) else { return }
        srt_close(caller)
    }
}

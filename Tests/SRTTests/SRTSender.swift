// SPDX-License-Identifier: Apache-2.0

import CSRT
import Glibc
import Synchronization

/// A sender on bare libsrt. Only ``init`` blocks, on the loopback interface.
final class SRTSender: Sendable {
    /// Seven packets of a transport stream, marked with their sender.
    static func message(_ mark: UInt8) -> [UInt8] {
        (0..<7).flatMap { _ in [0x47] + [UInt8](repeating: mark, count: 187) }
    }

    /// Ends libsrt's threads before the process unloads its libraries at exit, because the threads would crash then.
    private static let library: Void = {
        srt_startup()
        srt_setloglevel(LOG_CRIT)
        atexit { _ = srt_cleanup() }
    }()

    private let socket: SRTSOCKET

    /// Calls `port` with these options, and waits for the answer.
    init(port: UInt16, streamID: String = "", passphrase: String = "", latency: CInt = 50) {
        _ = Self.library
        socket = srt_create_socket()
        Self.set(socket, SRTO_PEERLATENCY, latency)
        srt_setsockflag(socket, SRTO_STREAMID, streamID, CInt(streamID.utf8.count))
        if !passphrase.isEmpty { srt_setsockflag(socket, SRTO_PASSPHRASE, passphrase, CInt(passphrase.utf8.count)) }
        Self.withAddress(port) { srt_connect(socket, $0, $1) }
    }

    /// Waits at `port` for a receiver's call.
    init(listening port: UInt16, passphrase: String = "") {
        _ = Self.library
        let listener = srt_create_socket()
        if !passphrase.isEmpty { srt_setsockflag(listener, SRTO_PASSPHRASE, passphrase, CInt(passphrase.utf8.count)) }
        Self.withAddress(port) { srt_bind(listener, $0, $1) }
        srt_listen(listener, 1)
        Self.set(listener, SRTO_RCVSYN, CInt(0))
        socket = listener
    }

    deinit { srt_close(socket) }

    private init(owning socket: SRTSOCKET) { self.socket = socket }

    private static func set<Value>(_ socket: SRTSOCKET, _ option: SRT_SOCKOPT, _ value: Value) {
        _ = withUnsafeBytes(of: value) { srt_setsockflag(socket, option, $0.baseAddress, CInt($0.count)) }
    }

    private static func withAddress(_ port: UInt16, _ body: (UnsafePointer<sockaddr>, CInt) -> CInt) {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = body($0, CInt(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    /// Returns the receiver that has called a listening sender; nil if none has.
    func accept() -> SRTSender? {
        let called = srt_accept(socket, nil, nil)
        return called == SRT_INVALID_SOCK ? nil : SRTSender(owning: called)
    }

    var isConnected: Bool { srt_getsockstate(socket) == SRTS_CONNECTED }

    /// Why the call was rejected.
    var rejection: CInt { srt_getrejectreason(socket) }

    /// How long the receiver buffers data, in milliseconds.
    var receiverLatency: CInt {
        var (value, length): (CInt, CInt) = (0, CInt(MemoryLayout<CInt>.size))
        srt_getsockflag(socket, SRTO_PEERLATENCY, &value, &length)
        return value
    }

    func send(_ message: [UInt8]) {
        _ = message.withUnsafeBytes {
            srt_sendmsg(socket, $0.bindMemory(to: CChar.self).baseAddress, CInt($0.count), -1, 1)
        }
    }

    /// Ends the connection.
    func hangUp() { srt_close(socket) }
}

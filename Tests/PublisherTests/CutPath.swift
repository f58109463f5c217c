// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Synchronization
import TestSupport

/// A UDP path between one caller and a port of the loopback interface, which a test can cut and restore. A thread
/// forwards the datagrams until the object is released.
final class CutPath: Sendable {
    /// The datagrams that pass.
    enum Passage: Sendable {
        case both
        /// All datagrams pass, but those of the caller arrive late, by at most ``CutPath/delay``.
        case late
        /// Datagrams from the caller are lost; the answers pass.
        case answersOnly
        case none
    }

    private struct State {
        var passage = Passage.both
        var isOver = false
        var caller: sockaddr_in?
        var lost = 0
        var rounds = 0
    }

    /// How late datagrams are, in microseconds.
    private static let delay: UInt32 = 400_000

    /// The port to call.
    var port: UInt16 { front.port }
    private let front: LoopbackSocket
    private let back: LoopbackSocket
    private let state: SharedState

    private final class SharedState: Sendable {
        let value = Mutex(State())
    }

    /// Creates a path to `port`, on which all datagrams pass.
    init(to port: UInt16) throws {
        (front, back, state) = (try LoopbackSocket(), try LoopbackSocket(), SharedState())
        var target = sockaddr_in()
        target.sin_family = sa_family_t(AF_INET)
        target.sin_port = port.bigEndian
        target.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
        Thread.detachNewThread { [front, back, state, target] in Self.carry(front, back, state, to: target) }
    }

    deinit { state.value.withLock { $0.isOver = true } }

    /// Lets only these datagrams pass from now on.
    func pass(_ passage: Passage) { state.value.withLock { $0.passage = passage } }

    /// The number of datagrams that did not pass.
    var lost: Int { state.value.withLock { $0.lost } }

    /// How often the thread has forwarded all datagrams that had arrived.
    var rounds: Int { state.value.withLock { $0.rounds } }

    private static func carry(
        _ front: LoopbackSocket, _ back: LoopbackSocket, _ state: SharedState, to target: sockaddr_in
    ) {
        var buffer = [UInt8](repeating: 0, count: 2048)
        while !state.value.withLock({ $0.isOver }) {
            state.value.withLock { $0.rounds += 1 }
            var polled = [front, back].map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
            guard poll(&polled, 2, 20) > 0 else { continue }
            if state.value.withLock({ $0.passage == .late }) { usleep(delay) }
            while let (count, sender) = receive(front.descriptor, into: &buffer) {
                let passes = state.value.withLock { state in
                    state.caller = sender
                    let passes = state.passage == .both || state.passage == .late
                    if !passes { state.lost += 1 }
                    return passes
                }
                if passes { send(buffer, count, from: back.descriptor, to: target) }
            }
            while let (count, _) = receive(back.descriptor, into: &buffer) {
                let caller = state.value.withLock { state -> sockaddr_in? in
                    if state.passage == .none { state.lost += 1 }
                    return state.passage == .none ? nil : state.caller
                }
                if let caller { send(buffer, count, from: front.descriptor, to: caller) }
            }
        }
    }

    private static func receive(_ descriptor: CInt, into buffer: inout [UInt8]) -> (Int, sockaddr_in)? {
        var sender = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let count = withUnsafeMutablePointer(to: &sender) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                recvfrom(descriptor, &buffer, buffer.count, CInt(MSG_DONTWAIT), $0, &length)
            }
        }
        return count < 0 ? nil : (count, sender)
    }

    private static func send(_ buffer: [UInt8], _ count: Int, from descriptor: CInt, to target: sockaddr_in) {
        var target = target
        _ = withUnsafePointer(to: &target) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(descriptor, buffer, count, 0, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The loop behind `sink`: one thread, and bytes that are discarded inside the kernel.
final class Sink {
    private let listener: CInt
    private let isRaw: Bool
    /// Publishers whose handshake is not complete, by descriptor; publishers that are on air are not in it.
    private var greeting: [CInt: SinkHandshake] = [:]
    private var watched: [pollfd] = []
    private var scratch = [UInt8](repeating: 0, count: 1 << 20)

    init(listener: CInt, isRaw: Bool) {
        self.listener = listener
        self.isRaw = isRaw
        watch(listener)
    }

    func run() -> Never {
        while true {
            let count = poll(&watched, nfds_t(watched.count), -1)
            let ready = watched.filter { $0.revents != 0 }.map(\.fd)
            for descriptor in ready {
                if descriptor == listener { accept() } else { read(descriptor) }
            }
            // While no publisher waits for an answer, some bytes may accumulate, which saves wake-ups.
            if count > 0, greeting.isEmpty { usleep(20_000) }
        }
    }

    private func watch(_ descriptor: CInt) {
        watched.append(pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0))
    }

    private func accept() {
        let descriptor = Glibc.accept(listener, nil, nil)
        guard descriptor >= 0 else { return }
        var yes: CInt = 1
        setsockopt(descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<CInt>.size))
        if !isRaw { greeting[descriptor] = SinkHandshake() }
        watch(descriptor)
    }

    private func read(_ descriptor: CInt) {
        let isGreeting = greeting[descriptor] != nil
        // The bytes are not copied: the kernel only counts them (tcp(7), MSG_TRUNC).
        let flags = CInt(MSG_DONTWAIT) | (isGreeting ? 0 : CInt(MSG_TRUNC))
        let count = recv(descriptor, &scratch, scratch.count, flags)
        if count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR) {
            greeting[descriptor] = nil
            watched.removeAll { $0.fd == descriptor }
            close(descriptor)
        } else if count > 0, isGreeting {
            let answer = greeting[descriptor]?.take(scratch[..<count]) ?? []
            if !answer.isEmpty { _ = Glibc.send(descriptor, answer, answer.count, CInt(MSG_NOSIGNAL)) }
            if greeting[descriptor]?.isPublishing ?? false { greeting[descriptor] = nil }
        }
    }
}

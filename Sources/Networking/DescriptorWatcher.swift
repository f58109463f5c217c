// SPDX-License-Identifier: Apache-2.0

internal import CLinux
internal import Glibc
internal import Synchronization

/// Waits on its own thread until descriptors are readable or writable. It sends one report for each request.
///
/// It replaces Dispatch sources, because on Linux the process crashed when such a source was cancelled (libdispatch
/// issue 949; also seen in relay at the end of a stream). Here, the kernel's event contains the number of a watch and
/// no pointer. An event that comes after the end of its watch is therefore ignored. Any thread may call the methods;
/// none of them blocks.
package final class DescriptorWatcher: Sendable {
    /// The operations for which a descriptor is ready. An error or a hang-up sets both bits.
    package struct Readiness: OptionSet, Sendable {
        /// One bit for each direction.
        package let rawValue: UInt8

        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Data can be read.
        package static let read = Readiness(rawValue: 1)
        /// Data can be written.
        package static let write = Readiness(rawValue: 2)
    }

    /// The state that the thread uses. The thread retains this object instead of the watcher, so that the watcher can
    /// be released.
    private final class Registry: Sendable {
        let epoll: CInt
        let stop: CInt
        let watches = Mutex<(next: UInt64, handlers: [UInt64: @Sendable (Readiness) -> Void])>((1, [:]))

        init?() {
            epoll = epoll_create1(relay_epoll_cloexec)
            stop = eventfd(0, relay_eventfd_cloexec)
            var event = epoll_event(events: relay_epollin, data: epoll_data_t(u64: 0))
            guard epoll >= 0, stop >= 0, epoll_ctl(epoll, EPOLL_CTL_ADD, stop, &event) == 0 else { return nil }
        }

        deinit {
            if epoll >= 0 { close(epoll) }
            if stop >= 0 { close(stop) }
        }

        /// Serves events until the watcher stops this registry.
        func run() {
            var events = [epoll_event](repeating: epoll_event(), count: 64)
            while true {
                let count = epoll_wait(epoll, &events, CInt(events.count), -1)
                guard count >= 0 else {
                    if errno == EINTR { continue }
                    return
                }
                for event in events.prefix(Int(count)) {
                    let number = event.data.u64
                    if number == 0 { return }
                    let handler = watches.withLock { $0.handlers[number] }
                    handler?(Self.readiness(event.events))
                }
            }
        }

        private static func readiness(_ events: UInt32) -> Readiness {
            if events & ~(relay_epollin | relay_epollout) != 0 { return [.read, .write] }
            return Readiness(rawValue: (events & relay_epollin != 0 ? 1 : 0) | (events & relay_epollout != 0 ? 2 : 0))
        }
    }

    private let registry: Registry

    /// Creates a watcher and its thread; nil if the kernel refuses.
    package init?(name: String) {
        guard let registry = Registry() else { return nil }
        self.registry = registry
        guard BlockingWork.start(name, { registry.run() }) == 0 else { return nil }
    }

    deinit {
        var one: UInt64 = 1
        write(registry.stop, &one, MemoryLayout.size(ofValue: one))
    }

    /// Registers `descriptor`, without a request yet, and returns the number of the watch; nil if the kernel refuses.
    /// `handler` is called on the watcher's thread, and must not block.
    package func add(_ descriptor: CInt, _ handler: @escaping @Sendable (Readiness) -> Void) -> UInt64? {
        let number = registry.watches.withLock { watches in
            defer { watches.next += 1 }
            watches.handlers[watches.next] = handler
            return watches.next
        }
        guard control(EPOLL_CTL_ADD, descriptor, number, []) else {
            registry.watches.withLock { $0.handlers[number] = nil }
            return nil
        }
        return number
    }

    /// Requests one report, when `descriptor` is ready for one of the operations in `wishes`. Replaces the previous
    /// request.
    package func arm(_ number: UInt64, _ descriptor: CInt, for wishes: Readiness) {
        _ = control(EPOLL_CTL_MOD, descriptor, number, wishes)
    }

    /// Ends the watch `number` of `descriptor`. Call it before closing the descriptor.
    package func remove(_ number: UInt64, _ descriptor: CInt) {
        _ = control(EPOLL_CTL_DEL, descriptor, number, [])
        registry.watches.withLock { $0.handlers[number] = nil }
    }

    private func control(_ operation: CInt, _ descriptor: CInt, _ number: UInt64, _ wishes: Readiness) -> Bool {
        let wished = (wishes.contains(.read) ? relay_epollin : 0) | (wishes.contains(.write) ? relay_epollout : 0)
        var event = epoll_event(events: wished | relay_epolloneshot, data: epoll_data_t(u64: number))
        return epoll_ctl(registry.epoll, operation, descriptor, &event) == 0
    }
}

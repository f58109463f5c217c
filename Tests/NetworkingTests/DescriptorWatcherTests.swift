// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import Networking

@Suite("Watching file descriptors")
struct DescriptorWatcherTests {
    /// The reports of a watch.
    private final class Told: Sendable {
        private let all = Mutex<[DescriptorWatcher.Readiness]>([])
        var count: Int { all.withLock { $0.count } }
        var last: DescriptorWatcher.Readiness? { all.withLock { $0.last } }
        func note(_ readiness: DescriptorWatcher.Readiness) { all.withLock { $0.append(readiness) } }
    }

    private func pair() throws -> (CInt, CInt) {
        var ends: [CInt] = [0, 0]
        try #require(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends) == 0)
        return (ends[0], ends[1])
    }

    @Test("An event requested of a file descriptor is reported once, and again only after another request")
    func once() throws {
        let watcher = try #require(DescriptorWatcher(name: "test"))
        let (near, far) = try pair()
        defer {
            close(near)
            close(far)
        }
        let told = Told()
        let watch = try #require(watcher.add(near) { told.note($0) })
        watcher.arm(watch, near, for: .read)
        send(far, "a", 1, 0)
        try eventually { told.count == 1 }
        #expect(told.last == .read)
        send(far, "b", 1, 0)
        watcher.arm(watch, near, for: .write)
        try eventually { told.count == 2 }
        #expect(told.last == .write)
        // Data that is already there is reported when it is requested.
        watcher.arm(watch, near, for: .read)
        try eventually { told.count == 3 }
        #expect(told.last == .read)
        shutdown(far, CInt(SHUT_RDWR))
        watcher.arm(watch, near, for: .read)
        try eventually { told.count == 4 }
        #expect(told.last == [.read, .write])
        watcher.remove(watch, near)
    }

    @Test("Adding and removing watches of descriptors during reports does not affect other watches")
    func churn() throws {
        let watcher = try #require(DescriptorWatcher(name: "test"))
        let (near, far) = try pair()
        defer {
            close(near)
            close(far)
        }
        let steady = Told()
        let watch = try #require(watcher.add(near) { steady.note($0) })
        for round in 1...300 {
            let (guest, peer) = try pair()
            let told = Told()
            let number = try #require(watcher.add(guest) { told.note($0) })
            watcher.arm(number, guest, for: [.read, .write])
            close(peer)
            watcher.remove(number, guest)
            close(guest)
            let count = told.count
            watcher.arm(watch, near, for: .write)
            try eventually { steady.count == round }
            // At most one event was being delivered when the watch ended.
            #expect(told.count <= count + 1)
        }
        watcher.remove(watch, near)
    }
}

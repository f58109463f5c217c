// SPDX-License-Identifier: Apache-2.0

import Archive
import Foundation
import TestSupport

/// Starts of relay before its disk is mounted.
extension ArchiveWalk {
    /// Ends relay, and starts it again while the directory is the empty mount point of its disk. The disk is mounted
    /// later. Relay must then find all recordings on the disk by itself.
    func mountLate() async throws {
        guard !isMissing, !isReadOnly else { return }
        if Bool.random(using: &random) { try await crash(isUntold: Bool.random(using: &random)) } else { await stop() }
        if remembersMounts { try await awaitDisk() } else { try await recordBelowMount() }
        // A recording that was refused begins by itself at the next admission.
        time.pass(.seconds(30))
        look()
        try checkFound()
    }

    /// Starts relay, which knows that a disk must be mounted, while the disk is not mounted. Relay must leave the empty
    /// mount point as it is.
    private func awaitDisk() async throws {
        note("the disk is not mounted, which relay knows")
        let hidden = closet.path("unmounted \(nextNumber())")
        try FileManager.default.moveItem(atPath: path, toPath: hidden)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        (place.path, isMissing, mount.isMounted) = (hidden, true, false)
        start(isAwaited: true)
        await work()
        let left = try FileManager.default.contentsOfDirectory(atPath: path)
        if !left.isEmpty { fault("relay made \(left.sorted()) in the empty mount point") }
        try FileManager.default.removeItem(atPath: path)
        try comeBack()
    }

    /// Starts relay, which knows of no disk, while the disk is not mounted. Relay records to the empty mount point,
    /// until the disk is mounted over it.
    private func recordBelowMount() async throws {
        note("the disk is not mounted, which relay does not know")
        let disk = place
        let empty = ModelPlace(closet.path("empty \(nextNumber())"))
        try FileManager.default.createDirectory(atPath: empty.path, withIntermediateDirectories: false)
        try exchange(for: empty)
        start()
        await work()
        shelf.removeAll { $0 === disk }
        note("the disk is mounted")
        try exchange(for: disk)
    }

    /// Lets relay and its users work for a while.
    private func work() async {
        for _ in 0..<Int.random(in: 1...4, using: &random) where faults.isEmpty {
            switch Int.random(in: 0..<7, using: &random) {
            case 0: look()
            case 1: wait()
            case 2: await upload(Bool.random(using: &random) ? .none : .away)
            case 3: hold()
            case 4: clip()
            case 5: deleteByOperator()
            default: record(Int.random(in: 1...5, using: &random))
            }
        }
    }

    /// Checks that relay has completed and listed the recordings on the disk, although it was started without the disk.
    private func checkFound() throws {
        guard let relay, faults.isEmpty else { return }
        relay.rest()
        scan()
        let directory = try RecordDirectory.existing(path)
        let open = try directory.recordings().filter { $0.kind == .open && place.others[$0.name] == nil }
        for (name, _) in open where !directory.isInUse(name) { fault("\(name) is not completed after the late mount") }
        guard !place.isCatalogueDamaged else { return }
        for name in place.names { place.files[name]?.awaitsStart = false }
        checkList(isFresh: false)
    }
}

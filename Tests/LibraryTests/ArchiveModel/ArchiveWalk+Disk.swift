// SPDX-License-Identifier: Apache-2.0

import Archive
import Foundation
import Glibc
import Media
import Segmenter
import TestSupport

@testable import Catalogue

/// Disturbances of disks and clocks.
extension ArchiveWalk {
    private static let pageSize = 4096

    /// Makes the directory read-only, or removes it from its path. If such a disturbance is in effect, ends it instead.
    func disturbDisk() throws {
        if isMissing { return try comeBack() }
        if isReadOnly { return setReadOnly(false) }
        if Bool.random(using: &random) { setReadOnly(true) } else { try goAway() }
    }

    /// Records that the directory cannot be used in this run.
    func noteTrouble() {
        hadTrouble = true
        if let relay { runs[relay.run]?.wasInterrupted = true }
    }

    /// If `isOn` is true, forbids that files are created or removed in the directory itself; otherwise allows it again.
    func setReadOnly(_ isOn: Bool) {
        guard isOn != isReadOnly else { return }
        // Permissions do not restrict root. An immutable directory does, if the file system supports immutable
        // directories.
        let isDone =
            geteuid() == 0 ? Self.setImmutable(isOn, place.path) : chmod(place.path, isOn ? 0o555 : 0o755) == 0
        guard isDone else { return }
        isReadOnly = isOn
        note("the directory is \(isOn ? "read-only" : "writable again")")
        if isOn { noteTrouble() }
    }

    /// Sets or clears the immutable flag of a directory: `FS_IOC_GETFLAGS`, `FS_IOC_SETFLAGS` and `FS_IMMUTABLE_FL`
    /// (linux/fs.h).
    private static func setImmutable(_ isOn: Bool, _ path: String) -> Bool {
        let directory = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { return false }
        defer { close(directory) }
        var flags = 0
        guard ioctl(directory, 0x8008_6601, &flags) == 0 else { return false }
        flags = isOn ? flags | 0x10 : flags & ~0x10
        return ioctl(directory, 0x4008_6602, &flags) == 0
    }

    private func goAway() throws {
        note("the directory is gone")
        let hidden = closet.path("gone \(nextNumber())")
        try FileManager.default.moveItem(atPath: path, toPath: hidden)
        (place.path, isMissing, mount.isMounted) = (hidden, true, false)
        noteTrouble()
    }

    /// Moves the directory back to its path.
    func comeBack() throws {
        guard isMissing else { return }
        note("the directory is back")
        if FileManager.default.fileExists(atPath: path) {
            fault("relay made the directory although its disk was gone")
            try FileManager.default.removeItem(atPath: path)
        }
        try FileManager.default.moveItem(atPath: place.path, toPath: path)
        (place.path, isMissing, mount.isMounted) = (path, false, true)
        scan()
    }

    /// Lets other programs fill the disk or, if it is full, makes room again. The storage guard suspends and resumes the
    /// recorder.
    func fillDisk() {
        disk.isFull.toggle()
        note("the disk is \(disk.isFull ? "full" : "no longer full")")
        guard let relay else { return }
        runs[relay.run]?.wasInterrupted = true
        relay.watch()
        relay.rest()
        scan()
    }

    /// Replaces the present directory by another one: by a new one, or by one that was there before.
    func swapDirectory() throws {
        guard !isMissing, !isReadOnly else { return }
        let isNew = shelf.isEmpty || Int.random(in: 0..<4, using: &random) == 0
        let other = isNew ? ModelPlace(closet.path("new \(nextNumber())")) : shelf.removeFirst()
        note("\(isNew ? "a new directory" : "an earlier directory") is in the place of the present one")
        if isNew {
            try FileManager.default.createDirectory(atPath: other.path, withIntermediateDirectories: false)
        }
        try exchange(for: other)
        look()
    }

    /// Puts the directory `other` in the place of the present one.
    func exchange(for other: ModelPlace) throws {
        let hidden = closet.path("disk \(nextNumber())")
        try FileManager.default.moveItem(atPath: path, toPath: hidden)
        try FileManager.default.moveItem(atPath: other.path, toPath: path)
        (place.path, other.path) = (hidden, path)
        place.forgetUploads()
        other.forgetUploads()
        shelf.append(place)
        place = other
        noteTrouble()
        if let relay {
            relay.watch()
            relay.rest()
        }
        scan()
    }

    /// Overwrites a page of the catalogue.
    func damageCatalogue() throws {
        let path = "\(place.path)/\(RecordDirectory.catalogueName)"
        relay?.rest()
        guard let file = try? FileDescriptor.open(existing: path) else { return }
        let pages = Int(try file.size()) / Self.pageSize
        guard pages > 0 else { return }
        let page = Int.random(in: 0..<pages, using: &random)
        let isZeroed = Bool.random(using: &random)
        note("page \(page) of the \(pages) of the catalogue is \(isZeroed ? "zeros" : "another program's")")
        let bytes = isZeroed ? [UInt8](repeating: 0, count: Self.pageSize) : random.bytes(Self.pageSize)
        try file.write([SharedBytes(bytes)], at: Int64(page * Self.pageSize))
        place.isCatalogueDamaged = true
        place.doubtLedger()
        forgetCatalogue()
    }

    /// Ends relay, sets its catalogue aside as one that is damaged, and starts relay again. All of it can be read, so
    /// the new one must get each clip and each entry of the ledger.
    func loseCatalogue() async throws {
        guard relay != nil, !isMissing, !isReadOnly, !hadTrouble, !place.isCatalogueDamaged else { return }
        await stop()
        if Catalogue.exists(in: path) {
            note("the catalogue is set aside")
            _ = try CatalogueFiles.setAside(in: RecordDirectory.existing(path))
            forgetCatalogue()
        }
        start()
    }

    /// Records that the catalogue may have lost what cannot be read from the files.
    private func forgetCatalogue() {
        place.forgetUploads()
        for run in runs.keys { runs[run]?.isDoubtful = true }
    }

    // MARK: Clocks

    /// Sets the wall clock far ahead or far behind, or by less than a minute. If the clock is wrong already, sets it
    /// right.
    func disturbClock() {
        guard time.isRight else { return correctClock() }
        let hours = Int64.random(in: 1...4800, using: &random) * 3_600_000
        switch Int.random(in: 0..<3, using: &random) {
        case 0:
            // If two consecutive files were dated before and after such a change, retention knows the time between them
            // only to within 10 min.
            slack += .seconds(600)
            setClock(hours)
        case 1: setClock(-hours)
        default: setClock(Int64.random(in: -50_000...50_000, using: &random))
        }
    }

    /// Sets the wall clock right.
    func correctClock() {
        guard !time.isRight else { return }
        setClock(0)
    }

    private func setClock(_ error: Int64) {
        note("the wall clock is \(error / 1000) s ahead")
        let step = abs(error - time.error)
        if step < 60_000 { slack += .milliseconds(step) }
        hadWrongClock = true
        time.set(error: error, hasServer: Int.random(in: 0..<3, using: &random) > 0)
        look()
    }
}

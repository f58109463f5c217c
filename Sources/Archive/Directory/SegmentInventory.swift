// SPDX-License-Identifier: Apache-2.0

/// The files of one channel in a record directory, kept up to date at a cost that does not grow with their number.
///
/// The directory is listed once. After that, each ``update(_:)`` reads the files that are known to have changed, and a
/// bounded number of others in turn: some known files, which can have been removed or replaced, and some entries of the
/// directory, which can be new. In an archive of up to ``mostFiles`` files and ``mostEntries`` entries, each update
/// therefore reads all of them. If a known file turns out to be gone and this was not reported, all known files are
/// read once.
///
/// All calls block on the disk.
package struct SegmentInventory: Sendable {
    /// How much was read.
    package struct Work: Sendable, Equatable {
        /// Files whose attributes were read.
        package var files = 0
        /// Entries of directories that were read.
        package var entries = 0

        package init(files: Int = 0, entries: Int = 0) { (self.files, self.entries) = (files, entries) }
    }

    /// How many known files an update reads besides the changed ones.
    package static let mostFiles = 500
    /// How many entries of directories an update reads.
    package static let mostEntries = 500
    /// How many foreign files are remembered.
    private static let mostStrangers = 10_000

    private let directory: RecordDirectory
    private let channel: String
    /// Decides which files belong to the channel. It is replaced in each round of the walk, because it remembers which
    /// directories are themselves record directories.
    private var ownership: Ownership
    private var walk = DirectoryWalk()
    private var stored: [String: StoredSegment] = [:]
    /// Files whose content shows that they are not recordings of the channel, with their attributes at that time.
    private var strangers: [String: StoredSegment] = [:]
    /// The number of files without a sequence number.
    private var unnumbered = 0
    /// The index in ``segments`` of the first known file that the next update reads in turn.
    private var next = 0
    /// How many times the updates have read the attributes of a file.
    private var readFiles = 0

    /// The finished and open files of the channel, the oldest first, in the order of
    /// ``RecordDirectory/segments(of:others:)``.
    package private(set) var segments: [StoredSegment] = []

    /// How much all updates have read.
    package var work: Work { Work(files: readFiles, entries: walk.entries) }

    /// Lists the files of `channel` in `directory`.
    package init(of channel: String, in directory: RecordDirectory) throws(FileFailure) {
        (self.channel, self.directory) = (channel, directory)
        ownership = Ownership(directory, channel: channel)
        let others = try directory.otherSegments(of: channel)
        for segment in try directory.segments(of: channel, others: others) where isOurs(segment) {
            stored[segment.fileName] = segment
            unnumbered += segment.sequence > 0 ? 0 : 1
        }
        sort()
    }

    /// Reads the files `changed`, which were opened, closed or removed since the last update, all open files, and in
    /// turn a bounded number of other files and entries.
    package mutating func update(_ changed: Set<String>) throws(FileFailure) {
        if walk.isAtStart { ownership = Ownership(directory, channel: channel) }
        let entries = try walk.step(Self.mostEntries, in: directory)
        var names = changed
        // When a file is closed, its open name disappears.
        names.formUnion(changed.map { RecordDirectory.openName(of: $0) })
        for segment in segments where !segment.isFinished { names.insert(segment.fileName) }
        names.formUnion(entries)
        let inTurn = nextFiles()
        names.formUnion(inTurn)
        for name in names { examine(name) }
        // A known file has disappeared, so something besides relay deletes files here. All files are examined now:
        // otherwise retention would delete further files to free space that is already free.
        guard inTurn.contains(where: { stored[$0] == nil && !changed.contains($0) }) else { return }
        for name in segments.map(\.fileName) { examine(name) }
    }

    /// Removes the file `name` from the inventory, for example because it was deleted.
    package mutating func remove(_ name: String) {
        guard let old = stored.removeValue(forKey: name) else { return }
        let index = place(of: old)
        if index < segments.count, segments[index].fileName == name { segments.remove(at: index) }
        guard old.sequence <= 0 else { return }
        unnumbered -= 1
        if unnumbered == 0 { sort() }
    }

    /// Removes from the inventory a file whose content shows that it is not a recording of the channel. The file is not
    /// added again until its attributes change.
    package mutating func disown(_ segment: StoredSegment) {
        remove(segment.fileName)
        if strangers.count >= Self.mostStrangers { strangers.removeAll() }
        strangers[segment.fileName] = segment
    }

    /// Returns the names of the known files whose turn it is.
    private mutating func nextFiles() -> [String] {
        guard !segments.isEmpty else { return [] }
        let first = next
        let names = (0..<min(Self.mostFiles, segments.count)).map { segments[(first + $0) % segments.count].fileName }
        next = (first + names.count) % segments.count
        return names
    }

    /// Reads the attributes of the file `name`, and adds, updates or removes it.
    private mutating func examine(_ name: String) {
        let sequence: Int
        switch ownership.match(name) {
        case _ where name.hasSuffix(SegmentName.brokenSuffix): return remove(name)
        case .certain(let number): sequence = number
        case .possible where !name.hasSuffix(SegmentName.openMark): sequence = 0
        case .possible, nil: return remove(name)
        }
        readFiles += 1
        guard let segment = directory.segment(name, sequence: sequence) else { return remove(name) }
        if stored[name] == segment { return }
        if isOurs(segment) { put(segment) } else { remove(name) }
    }

    /// Whether the file counts as a recording of the channel. A file is opened only if its name could also belong to
    /// another channel; a file that cannot be read does not count now. Each file is opened again before it is deleted.
    private mutating func isOurs(_ segment: StoredSegment) -> Bool {
        if strangers[segment.fileName] == segment { return false }
        strangers[segment.fileName] = nil
        guard !ownership.isNamedAfterChannel(segment.fileName) else { return true }
        guard let isOurs = ownership.owns(segment.fileName) else { return false }
        if !isOurs { disown(segment) }
        return isOurs
    }
}

// MARK: Order

extension SegmentInventory {
    private mutating func put(_ segment: StoredSegment) {
        remove(segment.fileName)
        stored[segment.fileName] = segment
        if segment.sequence <= 0 {
            unnumbered += 1
            // The first file without a sequence number changes the order of all files.
            if unnumbered == 1 { return sort() }
        }
        segments.insert(segment, at: place(of: segment))
    }

    private mutating func sort() {
        let isNumbered = unnumbered == 0
        segments = stored.values.sorted { Self.isOlder($0, $1, isNumbered) }
    }

    private static func isOlder(_ first: StoredSegment, _ second: StoredSegment, _ isNumbered: Bool) -> Bool {
        isNumbered
            ? (first.sequence, first.fileName) < (second.sequence, second.fileName)
            : (first.ended.milliseconds, first.fileName) < (second.ended.milliseconds, second.fileName)
    }

    /// The index of `segment`, or the index at which it must be inserted.
    private func place(of segment: StoredSegment) -> Int {
        let isNumbered = unnumbered == 0
        var (low, high) = (0, segments.count)
        while low < high {
            let middle = (low + high) / 2
            if Self.isOlder(segments[middle], segment, isNumbered) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

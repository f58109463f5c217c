// SPDX-License-Identifier: Apache-2.0

package import Archive
internal import Catalogue
internal import Foundation
internal import Logging
internal import MP4
package import Media
package import Segmenter

/// The recordings of one channel, for the API. The data comes from the catalogue and from the files, also while the
/// recorder writes them.
///
/// Only regular files of the channel below the directory are opened, no matter which identifier a client sends. Any
/// thread may call the methods.
///
/// ```swift
/// let archive = ChannelArchive("/recordings", channel: "studio")
/// let list = try archive.list(0..<Int64.max, limit: 100)
/// for recording in list.recordings { print(recording.name, recording.durationSeconds) }
/// let playlist = try archive.playlist(from: 1_795_000_000_000, to: nil)
/// ```
package final class ChannelArchive: Sendable {
    /// A file that is open for reading.
    struct OpenFile {
        /// The name under which the file is opened.
        let name: String
        /// The name that the file has, or will have, when it is closed.
        let closedName: String
        /// Whether the file is being written, or was left open by a crash.
        let isOpen: Bool
        let descriptor: FileDescriptor

        var isStream: Bool { closedName.hasSuffix(RecordFormat.ts.fileExtension) }
    }

    /// Identifies a file by its name and its inode number.
    struct MapKey: Hashable {
        let name: String
        let number: UInt64
    }

    /// The path of the channel's recordings.
    package let path: String
    let mount: MountRule
    let template: NameTemplate
    /// The channel's name.
    let name: String
    /// The name of the channel, or of its source, in the form in which file names contain it.
    let channel: String
    /// The source whose recordings these are; nil if they are recordings of the program.
    let source: String?
    /// The rules by which the channel's files are deleted; nil if retention deletes nothing.
    let rules: RetentionRules?
    let logger: Logger
    private let memory: MountMemory
    let plans = DeletionPlans()
    /// Which files are open, so that a page of a list does not read the directory each time.
    let openNames = OpenNames()
    let thumbnails = RecentValues<ThumbnailKey, [UInt8]>(limit: 64)
    /// The cache of fragment maps. `isWhole` says whether a map was read from a closed file.
    private let maps = RecentValues<MapKey, (map: FragmentMap, isWhole: Bool)>(limit: 24)

    /// Creates the archive of `channel`, or of one of its sources, in the directory `path`, whose files are deleted by
    /// `rules`. `memory` knows whether the directory was on a mounted disk. Opens nothing yet.
    package init(
        _ path: String, mount: MountRule = .remembered, memory: MountMemory = .standard,
        template: NameTemplate = .standard, channel: String, source: String? = nil, rules: RetentionRules? = nil
    ) {
        (self.path, self.mount, self.memory, self.template) = (path, mount, memory, template)
        self.rules = rules
        (name, self.source) = (channel, source)
        self.channel = SegmentName.safe(source.map { SegmentName.channel(channel, source: $0) } ?? channel)
        var logger = Logger(label: "relay")
        logger[metadataKey: "channel"] = "\(channel)"
        self.logger = logger
    }

    /// Returns the directory of the recordings; nil while it does not exist or its disk is not mounted.
    func directory() throws(Refusal) -> RecordDirectory? {
        // Returns nil while the disk is not mounted: the files in its mount point are not recordings, and nothing may
        // be written there.
        guard (try? memory.checkMount(of: path, mount)) != nil else { return nil }
        do {
            return try RecordDirectory.existing(path, template: template)
        } catch {
            if error.code == ENOENT { return nil }
            throw Refusal(.unavailable, "The directory of the recordings cannot be read: \(error.text).")
        }
    }

    func ledger(_ directory: RecordDirectory) -> ChannelLedger { ChannelLedger(directory: directory, channel: channel) }

    /// Returns the result of `work`. Throws errors of `work` in the form that the API reports, without paths of this
    /// machine.
    func telling<Value>(_ work: () throws -> Value) throws(Refusal) -> Value {
        do {
            return try work()
        } catch let failure as Refusal {
            throw failure
        } catch let failure as FileFailure {
            logger.warning("recordings cannot be used: \(failure)")
            throw Refusal(.unavailable, "The disk does not allow that: \(failure.text).")
        } catch {
            throw Refusal(.unavailable, "\(error)")
        }
    }

    /// Opens the file of `id` for reading. Throws `notFound` if it is not a recording of the channel.
    func file(_ id: String) throws(Refusal) -> (directory: RecordDirectory, file: OpenFile) {
        guard let name = RecordingID.name(of: id), RecordDirectory.closedName(of: name) == name,
            let directory = try directory()
        else { throw Self.unknown }
        if let descriptor = try? directory.open(recording: name) {
            guard isOurs(name, in: directory) else { throw Self.unknown }
            return (directory, OpenFile(name: name, closedName: name, isOpen: false, descriptor: descriptor))
        }
        let open = RecordDirectory.openName(of: name)
        if ownership(directory).owns(open) ?? false, let descriptor = try? directory.open(recording: open) {
            return (directory, OpenFile(name: open, closedName: name, isOpen: true, descriptor: descriptor))
        }
        throw Self.unknown
    }

    /// The name of the finished file of `id`. Throws `conflict` while the file is being written.
    package func finishedName(of id: String) throws(Refusal) -> String {
        let (_, file) = try file(id)
        guard !file.isOpen else { throw Refusal(.conflict, "The file is still being written.") }
        return file.name
    }

    private static var unknown: Refusal { Refusal(.notFound, "There is no recording of this name.") }

    /// Whether the closed file `name` is a recording of the channel, by the catalogue or by the file's own metadata.
    private func isOurs(_ name: String, in directory: RecordDirectory) -> Bool {
        if (try? ledger(directory).segment(name)) ?? nil != nil { return true }
        return ownership(directory).owns(name) ?? false
    }

    func ownership(_ directory: RecordDirectory) -> Ownership { Ownership(directory, channel: channel) }

    /// Returns the positions of all fragments of `file` that are complete now.
    func map(_ file: OpenFile) throws -> FragmentMap {
        let stamp = try file.descriptor.stamp()
        let key = MapKey(name: file.closedName, number: stamp.number)
        var map: FragmentMap
        if let known = maps[key], known.map.end <= stamp.size {
            map = known.map
            if known.isWhole { return map }
            // The map is extended even if the file is closed by now, because its last fragments were written after the
            // map was read.
            try map.extend(file.descriptor)
        } else {
            map = try FragmentMap(file.descriptor)
        }
        maps[key] = (map, !file.isOpen)
        return map
    }

    /// Opens the file of `id`. It stays readable as long as the returned value exists.
    package func open(_ id: String) throws(Refusal) -> ArchivedFile {
        let (_, file) = try file(id)
        return try telling {
            let stamp = try file.descriptor.stamp()
            var size = stamp.size
            if file.isOpen { size = file.isStream ? size / 188 * 188 : try map(file).end }
            let tag = [stamp.number, UInt64(clamping: stamp.size), UInt64(clamping: stamp.modified)]
                .map { String($0, radix: 16) }.joined(separator: "-")
            return ArchivedFile(
                name: String(file.closedName.split(separator: "/").last ?? ""),
                type: file.isStream ? "video/mp2t" : "video/mp4", size: size, tag: file.isOpen ? nil : tag
            ) { offset, count in try file.descriptor.read(at: offset, count: count) }
        }
    }

    /// The initialization segment of a file, which a player needs before any fragment.
    package func initialisation(of id: String) throws(Refusal) -> [UInt8] {
        let (_, file) = try file(id)
        guard !file.isStream else { throw Refusal(.conflict, "An MPEG-TS file needs nothing before it.") }
        return try telling { try map(file).initialisation }
    }
}

// MARK: Lists

extension ChannelArchive {
    /// The files, gaps and events that overlap `range`, in milliseconds since 1970. Each of the three lists contains at
    /// most the newest `limit` entries. With the status of the channel's `retention`, the list can say when files are
    /// deleted for want of space.
    package func list(
        _ range: Range<Int64>, limit: Int, retention: RetentionStatus? = nil
    ) throws(Refusal) -> RecordingList {
        guard let directory = try directory() else { return RecordingList(recordings: [], gaps: [], events: []) }
        return try telling {
            let (page, listed) = try page(range, limit: limit, directory)
            // If the catalogue cannot be read, the list is made as if there were no clips.
            let outlook = RecordingOutlook(rules: rules, clips: (try? ledger(directory).clips()) ?? [])
            var recordings = listed.map {
                recording($0, isHeld: HoldMark.isSet(of: $0.name, in: directory), outlook)
            }
            let open = try openRecordings(directory)
            recordings += open.filter { entry in
                entry.start < range.upperBound && entry.end >= range.lowerBound
                    && !recordings.contains { $0.id == entry.recording.id }
            }.map(\.recording)
            // The list is sorted, because a file that a crash left open may be older than closed files.
            recordings.sort { ($0.start, $0.id) < ($1.start, $1.id) }
            var list = RecordingList(
                recordings: recordings.suffix(limit), gaps: page.gaps.suffix(limit).map(Self.gap),
                events: page.events.suffix(limit).map {
                    .init(time: UTCTime(milliseconds: $0.start).extended, kind: $0.kind, text: $0.text)
                })
            list.deletesNext = try nextDeletions(in: directory, outlook, beside: open.map(\.recording), retention)
            return list
        }
    }

    /// Returns the catalogue's entries in `range`, and the files to list. At most the newest `limit` files that exist
    /// or were deleted on purpose are included. Files that were removed by hand are ignored, and do not count towards
    /// the limit.
    private func page(
        _ range: Range<Int64>, limit: Int, _ directory: RecordDirectory
    ) throws -> (ChannelLedger.Page, [CatalogueSegment]) {
        var (count, rows) = (limit, -1)
        while true {
            let page = try ledger(directory).page(range, limit: count)
            let listed = page.segments.filter {
                $0.deleted != nil || access("\(directory.path)/\($0.name)", F_OK) == 0
            }
            let isShort = listed.count < limit && listed.count < page.segments.count
            guard isShort, page.segments.count > rows else { return (page, Array(listed.suffix(limit))) }
            (count, rows) = (count * 4, page.segments.count)
        }
    }

    private func recording(
        _ segment: CatalogueSegment, isHeld: Bool, _ outlook: RecordingOutlook
    ) -> RecordingList.Recording {
        var recording = RecordingList.Recording(
            id: RecordingID.id(of: segment.name), name: segment.name,
            state: segment.deleted == nil ? .finished : .deleted)
        recording.start = UTCTime(milliseconds: segment.start).extended
        recording.end = UTCTime(milliseconds: segment.start + segment.duration / 1_000_000).extended
        recording.durationSeconds = Double(segment.duration) / 1e9
        (recording.bytes, recording.frames, recording.isHeld) = (segment.bytes, segment.frames, isHeld)
        (recording.upload, recording.sha256) = (segment.upload?.rawValue, segment.sha256)
        (recording.ending, recording.source) = (segment.ending?.rawValue, source)
        guard segment.deleted == nil else { return recording }
        let keepers = outlook.keepers(of: segment, isHeld: isHeld).map(\.rawValue)
        recording.keptFor = keepers.isEmpty ? nil : keepers
        recording.deleteAfter = outlook.expiry(of: segment).map { UTCTime(milliseconds: $0).extended }
        return recording
    }

    private static func gap(_ gap: CatalogueGap) -> RecordingList.Gap {
        RecordingList.Gap(
            start: UTCTime(milliseconds: gap.start).extended,
            durationSeconds: gap.to.map { ($0 - gap.from).inSeconds }, frames: gap.frames, cause: gap.cause)
    }

    /// The files of the channel that are being written, or were left open, in the order of time.
    private func openRecordings(
        _ directory: RecordDirectory
    ) throws -> [(recording: RecordingList.Recording, start: Int64, end: Int64)] {
        try openFiles(directory).map { file, start, map in
            var recording = RecordingList.Recording(
                id: RecordingID.id(of: file.closedName), name: file.name,
                state: directory.isInUse(file.name) ? .recording : .damaged)
            let stamp = try file.descriptor.stamp()
            // An MPEG-TS file has no map of fragments. Its end is taken to be the time at which it was last written.
            let end = map.map { start + $0.duration / 1_000_000 } ?? max(start, stamp.modified / 1_000_000)
            recording.start = UTCTime(milliseconds: start).extended
            recording.end = UTCTime(milliseconds: end).extended
            recording.durationSeconds = map.map { Double($0.duration) / 1e9 } ?? Double(end - start) / 1e3
            recording.bytes = stamp.size
            recording.frames = map?.frames ?? 0
            recording.isHeld = HoldMark.isSet(of: file.closedName, in: directory)
            recording.source = source
            return (recording, start, end)
        }
    }

    /// The open files of the channel, with their start times and maps of fragments. MPEG-TS has no fragments and no
    /// start time: its map is nil, and its start is the one in its name. If the name contains none, it is the time at
    /// which the file was last modified.
    func openFiles(_ directory: RecordDirectory) throws -> [(file: OpenFile, start: Int64, map: FragmentMap?)] {
        var found: [(file: OpenFile, start: Int64, map: FragmentMap?)] = []
        let ownership = ownership(directory)
        for name in try openNames.names(in: directory) {
            let closed = RecordDirectory.closedName(of: name)
            guard ownership.owns(name) ?? false, let descriptor = try? directory.open(recording: name) else { continue }
            let file = OpenFile(name: name, closedName: closed, isOpen: true, descriptor: descriptor)
            if file.isStream {
                let modified = try descriptor.stamp().modified / 1_000_000
                let start = ownership.start(of: name)?.milliseconds ?? modified
                found.append((file, start, nil))
            } else if let map = try? map(file), let tags = try? MovieTagsReader.tags(map.layout.userData),
                SegmentName.safe(tags.channel) == channel
            {
                found.append((file, tags.start.milliseconds, map))
            }
        }
        return found.sorted { $0.start < $1.start }
    }
}

// MARK: Playlists

extension ChannelArchive {
    /// The maximum number of files that are read for one playlist.
    private static let mostFiles = 3000

    /// Returns an HLS media playlist (RFC 8216) of the recordings between `from` and `to`, in milliseconds since 1970.
    /// If `to` is nil or not reached yet, the playlist grows while the channel is recorded.
    package func playlist(from: Int64, to: Int64?) throws(Refusal) -> String {
        guard let directory = try directory() else { throw Self.nothing }
        let range = from..<(to ?? .max)
        return try telling {
            let page = try ledger(directory).page(range, limit: Self.mostFiles + 1)
            guard page.segments.count <= Self.mostFiles else {
                throw Refusal(.unusable, "The range meets more than \(Self.mostFiles) files; ask for less.")
            }
            var files: [RangePlaylist.File] = []
            for segment in page.segments where segment.deleted == nil {
                guard !segment.name.hasSuffix(RecordFormat.ts.fileExtension),
                    let descriptor = try? directory.open(recording: segment.name),
                    let map = try? map(
                        OpenFile(name: segment.name, closedName: segment.name, isOpen: false, descriptor: descriptor))
                else { continue }
                files.append(
                    .init(
                        id: RecordingID.id(of: segment.name), start: segment.start, fragments: map.fragments,
                        isOpen: false))
            }
            for (file, start, map) in try openFiles(directory) where start < range.upperBound {
                let id = RecordingID.id(of: file.closedName)
                guard let map, !files.contains(where: { $0.id == id }) else { continue }
                files.append(
                    .init(id: id, start: start, fragments: map.fragments, isOpen: directory.isInUse(file.name)))
            }
            files.sort { $0.start < $1.start }
            let marks = page.events.filter { $0.kind == CatalogueEvent.marker }
                .map { RangePlaylist.Mark(date: $0.start, text: $0.text) }
            let query = source.map { "?source=\($0)" } ?? ""
            guard let text = RangePlaylist(from: from, to: to, query: query).text(files, marks: marks) else {
                throw Self.nothing
            }
            return text
        }
    }

    private static var nothing: Refusal { Refusal(.notFound, "Nothing was recorded then that can be played.") }
}

// MARK: The files of a run

/// A file of a recorder's run.
struct RunFile: Equatable {
    /// The name under which the file is opened.
    let name: String
    /// The name that the file has, or will have, when it is closed.
    let closedName: String
    /// When the file's first frame was on air: milliseconds since 1970.
    let start: Int64
    /// The range of program times in which no frame of the file is missing.
    let program: Range<ProgramInstant>
}

extension ChannelArchive {
    /// The existing files of `run`, in the order of time. They include files that are being written, and files that the
    /// catalogue does not contain yet.
    func files(ofRun run: String) throws(Refusal) -> [RunFile] { try files(ofRuns: [run])[run] ?? [] }

    /// The existing files of several runs, by run.
    func files(ofRuns runs: Set<String>) throws(Refusal) -> [String: [RunFile]] {
        guard let directory = try directory() else { return [:] }
        return try telling {
            let rows = try ledger(directory).kept()
            var files: [String: [RunFile]] = [:]
            for row in rows {
                guard let run = row.run, runs.contains(run), let start = row.programStart,
                    let end = row.wholeEnd ?? row.programEnd, start <= end
                else { continue }
                let file = RunFile(name: row.name, closedName: row.name, start: row.start, program: start..<end)
                files[run, default: []].append(file)
            }
            var found = Set(files.values.joined().map(\.closedName))
            let known = Set(rows.map(\.name))
            let ownership = ownership(directory)
            for (name, kind) in try directory.recordings() where kind != .broken && !known.contains(name) {
                let closed = RecordDirectory.closedName(of: name)
                // A file that is closed during this loop appears under both its names. It must be used only once.
                guard ownership.owns(name) ?? false, !found.contains(closed),
                    let facts = try? SegmentReader.read("\(directory.path)/\(name)"),
                    let position = facts.position, runs.contains(position.run)
                else { continue }
                let length = Duration.nanoseconds(max(0, facts.leading.nanoseconds(facts.leading.whole)))
                found.insert(closed)
                files[position.run, default: []].append(
                    RunFile(
                        name: name, closedName: closed, start: facts.start.milliseconds,
                        program: position.programStart..<position.programStart + length))
            }
            return files.mapValues { $0.sorted { $0.program.lowerBound < $1.program.lowerBound } }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Glibc
internal import MP4

extension RecordingArchive {
    /// What a verification checks in addition to the tables of the files and the continuity.
    package struct Verifying: Sendable {
        /// Whether files with a known checksum are read completely.
        package var checksums: Bool
        /// Whether all files are decoded.
        package var isDeep: Bool

        /// Options of a verification.
        package init(checksums: Bool = true, isDeep: Bool = false) {
            self.checksums = checksums
            self.isDeep = isDeep
        }
    }

    /// Checks every file and the gaps between them. Writes nothing.
    package func verify(_ options: Verifying) throws(ArchiveFailure) -> VerificationReport {
        var verification = Verification(archive: self)
        do throws(FileFailure) {
            try verification.readFiles()
        } catch {
            throw ArchiveFailure("\(error)")
        }
        verification.compareWithLedger()
        if options.checksums { verification.checkSums() }
        if options.isDeep { verification.decode() }
        verification.explainVanished()
        verification.checkContinuity()
        guard verification.report.segments > 0 || !verification.report.isGood else {
            throw ArchiveFailure("There are no recordings of relay in \(directory.path) that could be verified.")
        }
        return verification.report
    }
}

/// A running verification.
struct Verification {
    let archive: RecordingArchive
    var report = VerificationReport()
    /// Files that disappeared during the verification, or that only the catalogue knows. If retention has just deleted
    /// them, the catalogue shows it a moment later.
    private var vanished: Set<String> = []
    /// The metadata that was read from the files of the recordings, by file name. Transport streams are not included.
    private(set) var files: [String: SegmentFacts] = [:]
    /// The names of the transport streams, which have little metadata.
    private var streams: [String] = []
    /// Rows of transport streams that agree with the catalogue, and rows of deleted files that the catalogue keeps
    /// because older files of their runs remain.
    private(set) var otherRows: [CatalogueSegment] = []
    /// `rows` and `gaps` are the content of the catalogue; both are empty if the catalogue cannot be read.
    private(set) var rows: [String: CatalogueSegment] = [:]
    private(set) var gaps: [CatalogueGap] = []

    init(archive: RecordingArchive) { self.archive = archive }

    private var directory: RecordDirectory { archive.directory }

    private func path(_ name: String) -> String { "\(directory.path)/\(name)" }

    // MARK: Files

    mutating func readFiles() throws(FileFailure) {
        let recordings = try directory.recordings(andMOV: true)
        var found: [String: Result<SegmentFacts, SegmentReadFailure>] = [:]
        for (index, (name, kind)) in recordings.enumerated() {
            archive.report("reading", Int64(index), Int64(recordings.count))
            switch kind {
            case .closed where name.hasSuffix(RecordFormat.ts.fileExtension): streams.append(name)
            case .closed: found[name] = Result { () throws(SegmentReadFailure) in try SegmentReader.read(path(name)) }
            case .open: readOpen(name)
            case .broken: report.note(name, "nothing in it can be played, as recovery found")
            }
        }
        let counted = SegmentSalvage.counted(Array(found.keys)) { name in
            (try? found[name]?.get())?.problems.isEmpty ?? false
        }
        for (name, result) in found.sorted(by: { $0.key < $1.key }) {
            if counted.contains(name) {
                take(name, result)
            } else if name.hasSuffix(SegmentSalvage.repairedSuffix) {
                report.note(name, "a copy of a file that is whole; not counted")
            } else {
                report.note(name, "damaged; \(SegmentSalvage.repairedName(name)) replaces it")
            }
        }
        archive.report("reading", Int64(recordings.count), Int64(recordings.count))
    }

    /// Handles the result of reading a file that possibly belongs to the recordings.
    private mutating func take(_ name: String, _ result: Result<SegmentFacts, SegmentReadFailure>) {
        do throws(SegmentReadFailure) {
            let facts = try result.get()
            for problem in facts.problems { report.problem(name, problem) }
            files[name] = facts
        } catch .foreign(let reason) {
            let fileName = String(name.split(separator: "/").last ?? "")
            if SegmentName(fileName: fileName) == nil {
                report.note(name, "not a recording of relay (\(reason)); left alone")
            } else {
                report.problem(name, "it has the name of a recording, but is not one: \(reason)")
            }
        } catch {
            problem(name, "\(error)")
        }
    }

    /// Reports a problem with a file that cannot be read, unless the file is gone.
    private mutating func problem(_ name: String, _ text: String) {
        guard archive.exists(name) else {
            vanished.insert(name)
            return
        }
        report.problem(name, text)
    }

    /// Reports a file that a crash left open. A file that a running process is writing is not checked.
    private mutating func readOpen(_ name: String) {
        guard !directory.isInUse(name) else { return report.note(name, "being written now; not looked at") }
        guard archive.exists(name) else { return report.note(name, "closed while this looked; not looked at") }
        report.problem(name, "left open by a crash; relay recordings repair completes it")
        files[name] = try? SegmentReader.read(path(name))
    }

    // MARK: The ledger

    mutating func compareWithLedger() {
        do {
            defer { readStreams() }
            guard let ledger = try archive.ledger() else {
                return report.note(nil, "there is no catalogue; relay recordings rebuild makes one")
            }
            rows = Dictionary(ledger.segments.map { ($0.name, $0) }) { first, _ in first }
            gaps = CatalogueGap.joined(ledger.gaps.filter(\.isTold))
            otherRows = ledger.deleted
            if ledger.damagedRows > 0 {
                report.problem(
                    nil,
                    "\(ledger.damagedRows) rows of the catalogue are not what they should be; the next start of the "
                        + "recorder, or relay recordings rebuild, makes them again from the files")
            }
        } catch {
            return report.problem(nil, "the catalogue cannot be read: \(error)")
        }
        vanished.formUnion(rows.keys.filter { !archive.exists($0) })
        for (name, facts) in files.sorted(by: { $0.key < $1.key }) where !name.hasSuffix(SegmentName.openMark) {
            guard let row = rows[name] else {
                report.note(name, "not in the catalogue yet")
                continue
            }
            if !row.isSameFile(as: CatalogueSegment(name: name, facts: facts)) {
                report.problem(
                    name,
                    "it holds \(facts.frames) frames in \(facts.bytes) bytes, "
                        + "the catalogue says \(row.frames) in \(row.bytes), or tells its place differently")
            }
        }
    }

    /// Compares the size of each transport stream with the size in the catalogue, which the recorder has reported.
    private mutating func readStreams() {
        for name in streams {
            guard let row = rows[name] else {
                report.note(name, "a transport stream that the catalogue does not know; not looked at")
                continue
            }
            do throws(FileFailure) {
                let size = try FileDescriptor.open(readOnly: path(name)).attributes().size
                guard size != row.bytes else {
                    otherRows.append(row)
                    continue
                }
                report.problem(name, "it has \(size) bytes, the catalogue says \(row.bytes)")
            } catch {
                problem(name, "\(error)")
            }
        }
    }

    /// Reports for each missing file whether it was deleted on purpose. Retention updates the catalogue only after it
    /// has deleted a file, so while a recorder is running, the catalogue is read repeatedly for some seconds.
    mutating func explainVanished() {
        let end = ContinuousClock.now + Self.patience
        var lost = vanished
        while true {
            guard let ledger = try? archive.ledger() else { break }
            let present = Set(ledger.segments.map(\.name))
            for name in lost.sorted() where rows[name] != nil && !present.contains(name) {
                lost.remove(name)
                report.note(name, "it was deleted meanwhile")
                // The row of a deleted file is kept while an older file of its run remains, so that the file's absence
                // does not count as a gap. The row can cover other deleted files, too, and replaces their rows.
                guard let known = rows[name], files[name] == nil,
                    let row = ledger.deleted.first(where: { $0.covers(known) })
                else { continue }
                otherRows.removeAll { $0.deleted != nil && row.covers($0) }
                otherRows.append(row)
            }
            guard !lost.isEmpty, ContinuousClock.now < end, !directory.livingRuns().isEmpty else { break }
            archive.waitForCatalogue()
        }
        for name in lost.sorted() {
            guard let row = rows[name] else {
                report.note(name, "it went while this looked at it, and the catalogue did not know it")
                continue
            }
            report.problem(name, "the catalogue knows it, with \(row.frames) frames, and it is gone")
        }
    }

    /// How long the catalogue can take to record a deletion.
    private static let patience = Duration.seconds(3)

    // MARK: Content

    /// The names of the files whose content can be checked.
    private var readable: [String] {
        (Array(files.keys) + otherRows.filter { $0.deleted == nil }.map(\.name)).sorted()
    }

    mutating func checkSums() {
        let known = readable.filter { rows[$0]?.sha256 != nil }
        let unknown = readable.count { !$0.hasSuffix(SegmentName.openMark) } - known.count
        if unknown > 0, !rows.isEmpty {
            report.note(nil, "no checksum yet of \(unknown) segment\(unknown == 1 ? "" : "s")")
        }
        let total = known.reduce(0) { $0 + (rows[$1]?.bytes ?? 0) }
        var before: Int64 = 0
        for name in known {
            do throws(FileFailure) {
                let sum = try Checksum.of(path(name)) { archive.report("checksums", before + $0, total) }
                if sum != rows[name]?.sha256 { report.problem(name, "its bytes changed: the checksum is another") }
            } catch {
                // `problem` reports nothing if the file no longer exists. Reading all files takes hours, and retention
                // continues to delete files in the meantime.
                problem(name, "\(error)")
            }
            before += rows[name]?.bytes ?? 0
        }
    }

    mutating func decode() {
        let names = readable
        for (index, name) in names.enumerated() {
            archive.report("decoding", Int64(index), Int64(names.count))
            do {
                let check = try DeepCheck(path(name), subject: name)
                for problem in check.problems(expected: files[name]?.frames ?? rows[name]?.frames ?? 0) {
                    report.problem(name, problem)
                }
            } catch {
                problem(name, "\(error)")
            }
        }
        archive.report("decoding", Int64(names.count), Int64(names.count))
    }
}

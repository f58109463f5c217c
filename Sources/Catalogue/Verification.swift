// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Segmenter

extension RecordingArchive {
    /// What a verification looks at besides the tables and the continuity.
    public struct Verifying: Sendable {
        /// Whether files are read whole, where their checksums are known.
        public var checksums: Bool
        /// Whether everything is decoded.
        public var isDeep: Bool

        /// What is to be looked at.
        public init(checksums: Bool = true, isDeep: Bool = false) {
            self.checksums = checksums
            self.isDeep = isDeep
        }
    }

    /// Looks at every file and at what lies between them. Writes nothing.
    public func verify(_ options: Verifying) throws(ArchiveFailure) -> VerificationReport {
        var verification = Verification(archive: self)
        do throws(FileFailure) {
            try verification.readFiles()
        } catch {
            throw ArchiveFailure("\(error)")
        }
        verification.compareWithLedger()
        if options.checksums { verification.checkSums() }
        if options.isDeep { verification.decode() }
        verification.checkContinuity()
        guard verification.report.segments > 0 || !verification.report.isGood else {
            throw ArchiveFailure("There are no recordings of relay in \(directory.path) that could be verified.")
        }
        return verification.report
    }
}

/// One verification under way.
struct Verification {
    let archive: RecordingArchive
    var report = VerificationReport()
    /// The files that make up the recordings.
    private(set) var files: [String: SegmentFacts] = [:]
    /// Transport streams, which say little of themselves.
    private var streams: [String] = []
    /// Rows of those that are as the catalogue says, and of files that retention deleted between others.
    private(set) var otherRows: [CatalogueSegment] = []
    /// Rows and gaps that the catalogue holds; empty if it cannot be read.
    private(set) var rows: [String: CatalogueSegment] = [:]
    private(set) var gaps: [CatalogueGap] = []

    init(archive: RecordingArchive) { self.archive = archive }

    private var directory: RecordDirectory { archive.directory }

    private func path(_ name: String) -> String { "\(directory.path)/\(name)" }

    // MARK: Files

    mutating func readFiles() throws(FileFailure) {
        let recordings = try directory.recordings()
        let names = Set(recordings.map(\.name))
        var copies: [String] = []
        for (index, (name, kind)) in recordings.enumerated() {
            archive.report("reading", Int64(index), Int64(recordings.count))
            if kind == .closed, name.hasSuffix(RecordFormat.ts.fileExtension) {
                streams.append(name)
                continue
            }
            if name.hasSuffix(SegmentSalvage.repairedSuffix) {
                copies.append(name)
                continue
            }
            switch kind {
            case .closed: read(name, isSalvaged: names.contains(SegmentSalvage.repairedName(name)))
            case .open: readOpen(name)
            case .broken: report.note(name, "nothing in it can be played, as recovery found")
            }
        }
        for name in copies { readCopy(name) }
        archive.report("reading", Int64(recordings.count), Int64(recordings.count))
    }

    private mutating func read(_ name: String, isSalvaged: Bool) {
        do throws(SegmentReadFailure) {
            let facts = try SegmentReader.read(path(name))
            if isSalvaged, !facts.problems.isEmpty { return noteSalvaged(name) }
            for problem in facts.problems { report.problem(name, problem) }
            files[name] = facts
        } catch .foreign(let reason) {
            let fileName = String(name.split(separator: "/").last ?? "")
            if SegmentName(fileName: fileName) == nil {
                report.note(name, "not a recording of relay (\(reason)); left alone")
            } else {
                report.problem(name, "it has the name of a recording and is none: \(reason)")
            }
        } catch {
            if isSalvaged { return noteSalvaged(name) }
            report.problem(name, "\(error)")
        }
    }

    private mutating func noteSalvaged(_ name: String) {
        report.note(name, "damaged; \(SegmentSalvage.repairedName(name)) stands for it")
    }

    /// A file that a living process writes is no matter of this verification.
    private mutating func readOpen(_ name: String) {
        guard !directory.isInUse(name) else { return report.note(name, "being written now; not looked at") }
        guard archive.exists(name) else { return report.note(name, "closed while this looked; not looked at") }
        report.problem(name, "left open by a crash; relay recordings repair completes it")
        files[name] = try? SegmentReader.read(path(name))
    }

    /// A salvaged copy counts where the original does not.
    private mutating func readCopy(_ name: String) {
        let isNeeded = !files.keys.contains { SegmentSalvage.repairedName($0) == name }
        guard isNeeded else { return report.note(name, "a copy of a file that is whole; not counted") }
        read(name, isSalvaged: false)
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
                        + "recorder, or relay recordings rebuild, makes them anew from the files")
            }
        } catch {
            return report.problem(nil, "the catalogue cannot be read: \(error)")
        }
        for (name, row) in rows.sorted(by: { $0.key < $1.key }) where !archive.exists(name) {
            report.problem(name, "the catalogue knows it, with \(row.frames) frames, and it is gone")
        }
        for (name, facts) in files.sorted(by: { $0.key < $1.key }) where !name.hasSuffix(SegmentName.openMark) {
            guard let row = rows[name] else {
                report.note(name, "not in the catalogue yet")
                continue
            }
            if !row.isSameFile(as: CatalogueSegment(name: name, facts: facts)) {
                report.problem(
                    name,
                    "it holds \(facts.video.samples) frames in \(facts.bytes) bytes, "
                        + "the catalogue says \(row.frames) in \(row.bytes), or tells its place differently")
            }
        }
    }

    /// A transport stream is compared with what the recorder said of it.
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
                report.problem(name, "\(error)")
            }
        }
    }

    // MARK: Content

    /// The files whose content can be compared with what is known.
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
                // Reading takes hours, and retention goes on.
                if error.code == ENOENT {
                    report.note(name, "it was deleted meanwhile")
                } else {
                    report.problem(name, "\(error)")
                }
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
                for problem in check.problems(expected: files[name]?.video.samples ?? rows[name]?.frames ?? 0) {
                    report.problem(name, problem)
                }
            } catch {
                report.problem(name, "\(error)")
            }
        }
        archive.report("decoding", Int64(names.count), Int64(names.count))
    }
}

// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Catalogue
internal import MP4
internal import Media

/// A file of a recorder's run.
struct RunFile: Equatable {
    /// The name under which the file is opened.
    let name: String
    /// The name that the file has, or will have, when it is closed.
    let closedName: String
    /// When the file's first frame was on air: milliseconds since 1970.
    let start: Int64
    /// The file's range of program times without a missing frame, in nanoseconds.
    let program: Range<Int64>
}

extension ChannelArchive {
    /// The existing files of `run`, in their order, including those that the catalogue does not contain yet or that are
    /// being written.
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
                // If a file is closed during this loop, it appears under both names: take it once.
                guard ownership.owns(name) ?? false, !found.contains(closed),
                    let facts = try? SegmentReader.read("\(directory.path)/\(name)"),
                    let position = facts.position, runs.contains(position.run)
                else { continue }
                let length = max(0, facts.leading.nanoseconds(facts.leading.whole))
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

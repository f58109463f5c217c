// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Foundation
internal import Glibc

/// The directory of exported clips. It is a hidden directory in the record directory, so that clips are not mistaken
/// for recordings. All calls block on the disk.
struct ExportPlace {
    private static let name = ".relay-exports"
    /// The age, in seconds, from which a file without a job is removed: a day. An earlier process left such a file when
    /// it ended before the file was complete.
    private static let strangersAge = 86_400

    let directory: RecordDirectory
    private var path: String { "\(directory.path)/\(Self.name)" }

    /// The path of the clip of the job `id`.
    func path(of id: String) -> String { "\(path)/\(id).mp4" }

    /// The data that is stored next to a clip, so that the next process knows the clip.
    struct Note: Codable {
        var job: ExportJob
        /// The exported range, in milliseconds since 1970. `ended` is the time at which the export ended, in the same
        /// unit.
        let (from, to): (Int64, Int64)
        let ended: Int64
    }

    /// The valid times in notes: up to the year 2255.
    private static let times: Range<Int64> = 0..<9_000_000_000_000
    /// The maximum size of a note that is read; every real note is smaller.
    private static let longestNote: Int64 = 1 << 16

    private func notePath(of id: String) -> String { "\(path)/\(id).json" }

    /// Writes `note` next to its clip.
    func write(_ note: Note) throws {
        try JSONEncoder().encode(note).write(to: URL(fileURLWithPath: notePath(of: note.job.id)), options: .atomic)
    }

    /// The notes of the existing clips, in the order in which the exports ended. Unreadable notes are skipped.
    func notes() -> [Note] {
        let names = (try? RecordDirectory.names(in: path)) ?? []
        return names.filter { $0.hasSuffix(".json") }.compactMap { name -> Note? in
            guard let file = try? FileDescriptor.open(readOnly: "\(path)/\(name)"), let size = try? file.size(),
                size <= Self.longestNote, let bytes = try? file.read(at: 0, count: Int(size)),
                let note = try? JSONDecoder().decode(Note.self, from: Data(bytes)), note.from < note.to,
                [note.from, note.to, note.ended].allSatisfy(Self.times.contains),
                "\(note.job.id).json" == name, note.job.state == .done,
                (try? FileDescriptor.open(readOnly: self.path(of: note.job.id))) != nil
            else { return nil }
            return note
        }.sorted { $0.ended < $1.ended }
    }

    /// Creates the directory, and removes old files that earlier processes left. `known` contains the identifiers of
    /// the jobs whose files stay.
    func prepare(known: Set<String>) throws(FileFailure) {
        try directory.checkMount()
        guard mkdir(path, 0o755) == 0 || errno == EEXIST else {
            throw FileFailure("create directory", path, code: errno)
        }
        guard FileStatus(ofLink: path)?.kind == .directory else {
            throw FileFailure("export to", path, text: "it is a symbolic link, or no directory")
        }
        for entry in try RecordDirectory.names(in: path) where entry != "." && entry != ".." {
            let isKnown = known.contains { entry.contains($0) }
            guard !isKnown, let status = FileStatus(ofLink: "\(path)/\(entry)"), status.kind == .regular,
                status.modified < time(nil) - Self.strangersAge
            else { continue }
            unlink("\(path)/\(entry)")
        }
    }

    /// Removes the clip of the job `id`, and the note about the job, if they exist.
    func remove(_ id: String) {
        unlink(path(of: id))
        unlink(notePath(of: id))
    }
}

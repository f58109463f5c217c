// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Foundation
internal import Glibc

/// Where exported clips are kept: in a hidden directory of the recordings, so that they are not taken for recordings.
/// All calls block on the disk.
struct ExportPlace {
    private static let name = ".relay-exports"
    /// The age in seconds, a day, at which a file that no job knows is removed: it was left by a run of the process
    /// that ended before the file was done.
    private static let strangersAge = 86_400

    let directory: RecordDirectory
    private var path: String { "\(directory.path)/\(Self.name)" }

    /// The path of the clip of the job `id`.
    func path(of id: String) -> String { "\(path)/\(id).mp4" }

    /// What is written beside a clip, for the next run of the process.
    struct Note: Codable {
        var job: ExportJob
        /// What it is made of, in milliseconds since 1970, and when it was made.
        let (from, to): (Int64, Int64)
        let ended: Int64
    }

    /// What times in notes may be: up to the year 2255.
    private static let times: Range<Int64> = 0..<9_000_000_000_000
    /// More than any note has.
    private static let longestNote: Int64 = 1 << 16

    private func notePath(of id: String) -> String { "\(path)/\(id).json" }

    /// Writes `note` beside its clip.
    func write(_ note: Note) throws {
        try JSONEncoder().encode(note).write(to: URL(fileURLWithPath: notePath(of: note.job.id)), options: .atomic)
    }

    /// The notes of the clips that are there. What cannot be read is passed over.
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

    /// Makes the directory, and removes what earlier runs of the process left long ago; `known` are jobs of this one.
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

    /// Removes the clip of the job `id`, if there is one.
    func remove(_ id: String) {
        unlink(path(of: id))
        unlink(notePath(of: id))
    }
}

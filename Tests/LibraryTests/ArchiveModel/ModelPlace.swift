// SPDX-License-Identifier: Apache-2.0

import Archive

@testable import Catalogue

/// What must be in one record directory.
final class ModelPlace {
    /// A closed recording of the channel.
    struct OwnFile {
        /// The recorder's run, and the frames of its program that the file contains.
        var run: String
        var frames: Range<Int64>
        /// When it was closed, by the true time in nanoseconds.
        var ended: Int64
        var stamp: FileStamp
        /// Whether retention can know how old the file is. If the clock was wrong and relay was killed before it could
        /// remember that, it cannot.
        var isAgeKnown: Bool
        /// Whether something has changed its bytes.
        var isDamaged = false
        /// Whether it was uploaded, and relay was told so.
        var isUploaded = false
        /// Whether it may be uploaded once more, because relay cannot know that it was uploaded.
        var mayRepeat = false
        /// Whether it need not be uploaded, because it was missing when its turn came.
        var isExempt = false
        /// Whether an earlier file had the same name.
        var isReused = false
        /// Whether only the next start of relay finds it.
        var awaitsStart = false
    }

    /// An upload that the remote has taken and relay was told of, as an entry of the ledger must show it.
    struct Upload {
        var arrival: SimulatedDelivery.Arrival
        /// Whether the ledger must have it. It may lack it if the catalogue was damaged, or could not be written.
        var isCertain: Bool
    }

    /// Where the directory is now.
    var path: String
    var files: [String: OwnFile] = [:]
    /// Files that this archive did not make.
    var others: [String: FileStamp] = [:]
    /// Files that recovery has set aside.
    var aside: Set<String> = []
    /// The names of the files that are held.
    var held: Set<String> = []
    /// The clips that keep their files.
    var clips: [CatalogueClip] = []
    /// The uploads that the remote has taken, in order.
    var uploads: [Upload] = []
    /// The open file of another process that records the channel here, with its lock; nil without one.
    var rival: (name: String, lock: FileDescriptor)?
    /// All names that files of the channel have had.
    var usedNames: Set<String> = []
    /// The names of files that were damaged, or that two files have had: what checksum the ledger has of them depends
    /// on when it was computed.
    var ambiguousNames: Set<String> = []
    /// Whether the catalogue was damaged since relay last checked it at its start.
    var isCatalogueDamaged = false

    init(_ path: String) { self.path = path }

    /// The names of the recordings, sorted, so that a seed makes the same choices again.
    var names: [String] { files.keys.sorted() }

    /// Why the file must not be deleted whatever its age; nil if it may be. `hasUploads` says whether relay uploads.
    func protection(of name: String, hasUploads: Bool) -> String? {
        guard let file = files[name] else { return "it is no recording of this archive" }
        if held.contains(name) { return "it is held" }
        if isInClip(file) { return "it contains a part of a clip" }
        if hasUploads, !file.isUploaded, !file.isExempt { return "it waits for its upload" }
        return nil
    }

    /// Whether a clip needs the file, with a frame on each side of the clip. A file whose bytes were changed may not
    /// show its place in the program any more.
    func isInClip(_ file: OwnFile) -> Bool {
        guard !file.isDamaged else { return false }
        return clips.contains { clip in
            let end = clip.clip.end ?? clip.clip.first
            return clip.clip.run == file.run && clip.clip.first - 1 < file.frames.upperBound
                && file.frames.lowerBound < end + 1
        }
    }

    /// Whether `entry` of the ledger shows `upload`. Its time can be up to `shift` milliseconds later, because no two
    /// entries have the same time.
    func isShown(_ upload: Upload, by entry: UploadEntry, shift: Int64) -> Bool {
        let arrival = upload.arrival
        guard entry.name == arrival.name, entry.place == arrival.place, entry.bytes == arrival.bytes,
            (0...shift).contains(entry.time - arrival.time)
        else { return false }
        return entry.sha256 == nil || entry.sha256 == arrival.sha256 || ambiguousNames.contains(entry.name)
    }

    /// Records that the ledger may have lost the uploads so far.
    func doubtLedger() { for index in uploads.indices { uploads[index].isCertain = false } }

    /// Records that relay may have forgotten what it has uploaded.
    func forgetUploads() { for name in files.keys { files[name]?.mayRepeat = true } }
}

/// One run of relay, with what its program became.
struct ModelRun {
    /// How many frames were given to the recorder.
    var fed: Int64 = 0
    /// The frames that were in closed files, also in those that are deleted by now.
    var recorded: [Range<Int64>] = []
    /// Whether relay was killed.
    var wasKilled = false
    /// Whether the recording was interrupted before the end of the run.
    var wasInterrupted = false
    /// Whether gaps that the recorder reported may be lost: they are only in the catalogue.
    var isDoubtful = false
    /// Whether it was found that each frame is in a file or in a gap.
    var isAccounted = false
}

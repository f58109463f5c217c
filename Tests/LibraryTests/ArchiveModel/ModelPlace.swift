// SPDX-License-Identifier: Apache-2.0

import Archive
import Media

@testable import Catalogue

/// The model of one record directory.
final class ModelPlace {
    /// A closed recording of the channel.
    struct OwnFile {
        /// The recorder's run; `frames` are the frames of the run's program that the file contains.
        var run: String
        var frames: Range<Int64>
        /// When the file was closed, by the true time.
        var ended: MonotonicInstant
        var stamp: FileStamp
        /// Whether retention can know the age of the file. It cannot if the clock was wrong and relay was killed before
        /// it could remember that.
        var isAgeKnown: Bool
        /// Whether the file's bytes were changed after it was closed.
        var isDamaged = false
        /// Whether the file was uploaded, and relay knows it.
        var isUploaded = false
        /// Whether the file may be uploaded once more, because relay cannot know that it was uploaded.
        var mayRepeat = false
        /// Whether the file need not be uploaded, because it was missing when its turn came.
        var isExempt = false
        /// Whether an earlier file had the same name.
        var isReused = false
        /// Whether relay finds the file only at its next start.
        var awaitsStart = false
    }

    /// An upload that the remote has taken and relay was told of, as an entry of the ledger must show it.
    struct Upload {
        var arrival: SimulatedDelivery.Arrival
        /// Whether the ledger must have it. It may lack it if the catalogue was damaged, or could not be written.
        var isCertain: Bool
    }

    /// The present path of the directory.
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
    /// The names of damaged files, and names that two files have had. The checksum in the ledger then depends on when
    /// it was computed.
    var ambiguousNames: Set<String> = []
    /// Whether the catalogue was damaged since relay last checked it at its start.
    var isCatalogueDamaged = false

    init(_ path: String) { self.path = path }

    /// The names of the recordings, sorted, so that a walk with the same seed makes the same choices.
    var names: [String] { files.keys.sorted() }

    /// The reason why the file must not be deleted at any age; nil if it may be deleted. `hasUploads` says whether
    /// relay uploads files.
    func protection(of name: String, hasUploads: Bool) -> String? {
        guard let file = files[name] else { return "it is no recording of this archive" }
        if held.contains(name) { return "it is held" }
        if isInClip(file) { return "it contains a part of a clip" }
        if hasUploads, !file.isUploaded, !file.isExempt { return "it waits for its upload" }
        return nil
    }

    /// Whether a clip needs the file. A clip needs one more frame on each side. A file whose bytes were changed does
    /// not count, because its position in the program may not be readable any more.
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

/// One run of relay, and the fate of its program's frames.
struct ModelRun {
    /// The number of frames that were given to the recorder.
    var fed: Int64 = 0
    /// The frames in closed files, including files that were deleted since.
    var recorded: [Range<Int64>] = []
    /// Whether relay was killed.
    var wasKilled = false
    /// Whether the recording was interrupted before the end of the run.
    var wasInterrupted = false
    /// Whether the gaps that the recorder reported may be lost, because they are stored only in the catalogue.
    var isDoubtful = false
    /// Whether it was already checked that each frame is in a file or in a gap.
    var isAccounted = false
}

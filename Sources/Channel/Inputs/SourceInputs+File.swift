// SPDX-License-Identifier: Apache-2.0

internal import Ingest
internal import Media
internal import Program
internal import Studio
internal import Synchronization

/// The state of the first input if that input is a file: its position, and whether the file is closed because it is
/// neither visible nor audible.
struct FilePlace {
    /// The position at which the file begins when it is opened.
    var start = Duration.zero
    var isClosed = false
    /// Whether the file was closed, is being reopened, and has no frame yet.
    var isOpening = false
    /// The file's first frame, which is shown while the reopened file has no frame yet.
    var first: VideoFrame?
    /// Returns whether the file must be visible or audible; nil if the file is never closed.
    var isWanted: (@Sendable () -> Bool)?
}

extension SourceInputs: PlayedFile {
    var whenOff: WhenOff { configured.whenOff }

    /// The first input, if it is a file.
    var file: (any PlayedFile)? { configured.input.isFile ? self : nil }

    /// Decodes less while `isWanted` returns false. `isWanted` is called repeatedly. Depending on the configuration, a
    /// file is closed, and a live input is closed or decodes only its keyframes.
    func spareUnless(_ isWanted: @escaping @Sendable () -> Bool) {
        state.withLock { state in
            if whenOff == .close { state.file.isWanted = isWanted }
            if configured.selection.unseen != .hot { state.isWanted = isWanted }
        }
    }

    func play(from moment: Duration) throws(Refusal) {
        let length = state.withLock { $0.inputs[0].description?.duration }
        if let length, moment >= length {
            throw Refusal(.unusable, "The file lasts \(DurationText(length)).")
        }
        choice.perform { [self] in
            let isClosed = state.withLock { state in
                state.file.start = moment
                return state.file.isClosed
            }
            if isClosed { return }
            // Reopens the file at the new position. The visible frame stays until the file delivers a frame from there.
            source(0).stop()
            source(0).start()
        }
    }

    /// Closes the file if `isWanted` returns false, or reopens it if `isWanted` returns true again. Runs on the queue
    /// of `choice`.
    func checkFile() {
        let (place, feed) = state.withLock { ($0.file, $0.inputs[0].feed) }
        guard let isWanted = place.isWanted else { return }
        if place.first == nil, place.start == .zero, let frame = feed?.presentFrame {
            state.withLock { $0.file.first = frame }
        }
        if place.isOpening, feed?.newestVideo(at: now) != nil { state.withLock { $0.file.isOpening = false } }
        let wants = isWanted()
        if place.isClosed, wants {
            state.withLock { ($0.file.isClosed, $0.file.isOpening) = (false, true) }
            source(0).start()
        } else if !place.isClosed, !wants, let first = place.first {
            state.withLock { state in
                (state.file.isClosed, state.file.isOpening) = (true, false)
                state.file.start = .zero
            }
            source(0).stop()
            bus.show(Scene(video: .still(first), audio: nil))
            removeFeed(of: 0)
        }
    }

    /// The scene with the file's first frame, while the file is closed or has no frame yet; nil otherwise.
    func fileStill(_ feed: SourceFeed?) -> Scene? {
        let place = state.withLock { $0.file }
        let isAbsent = place.isClosed || (place.isOpening && feed?.newestVideo(at: now) == nil)
        guard isAbsent, let first = place.first else { return nil }
        return Scene(video: .still(first), audio: nil)
    }
}

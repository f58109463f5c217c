// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Catalogue
internal import Dispatch
internal import Logging
internal import Media
internal import Networking
internal import Segmenter
internal import Upload

/// The place of a recording: a writable directory, its catalogue, and the uploader of its finished files. The place is
/// created before anything that takes long to open, so that a wrong directory or remote is reported at once.
struct RecordingPlace: Sendable {
    let directory: RecordDirectory
    private let catalogue: Catalogue
    private let uploader: Uploader?
    private let channel: String
    private let logger: Logger

    /// Prepares the directory. If `asksRemote` is set and a remote is configured, asks rclone whether the remote
    /// answers. First, `collisions` checks that a second directory is not the first one, or in it, or around it. Blocks
    /// for up to 3 s, and in addition until the file system answers, for which it waits at most `patience`. Throws
    /// ``ChannelFailure``.
    init(
        _ configuration: ChannelConfiguration.Recording, channel: String, patience: Duration? = .seconds(10),
        asksRemote: Bool = true, collisions: CollisionCheck = CollisionCheck(), logger: Logger
    ) throws(ChannelFailure) {
        try self.init(
            configuration, in: Self.prepare(configuration, patience, collisions), channel: channel,
            asksRemote: asksRemote, logger: logger)
    }

    /// Creates the place of recordings that exist already, so that retention can delete their old files. Creates no
    /// directory, and does not ask the remote. Blocks until the file system answers. Throws ``FileFailure`` if the
    /// directory is missing or its disk is not mounted, and ``ChannelFailure`` if the uploader cannot be created.
    init(existing configuration: ChannelConfiguration.Recording, channel: String, logger: Logger) throws {
        try MountMemory.standard.checkMount(of: configuration.directory, configuration.mount)
        let directory = try RecordDirectory.existing(configuration.directory, template: configuration.template)
        try self.init(configuration, in: directory, channel: channel, asksRemote: false, logger: logger)
    }

    private init(
        _ configuration: ChannelConfiguration.Recording, in directory: RecordDirectory, channel: String,
        asksRemote: Bool, logger: Logger
    ) throws(ChannelFailure) {
        let catalogue = Catalogue(directory: directory, channel: channel, logger: logger)
        (self.directory, self.catalogue) = (directory, catalogue)
        (self.channel, self.logger) = (channel, logger)
        do throws(UploadRefusal) {
            uploader = try configuration.upload.map { (target) throws(UploadRefusal) in
                try Uploader(
                    directory: directory, channel: channel, catalogue: catalogue, target: target,
                    asksRemote: asksRemote, logger: logger)
            }
        } catch {
            throw ChannelFailure(.configuration, .record(configuration.directory), saidBy: error)
        }
    }

    /// The observers of files and gaps. The catalogue must be the first, because the uploader reads from it.
    var observers: [any RecordingObserver] {
        let all: [(any RecordingObserver)?] = [catalogue, uploader]
        return all.compactMap { $0 }
    }

    /// Records an event of the channel in the catalogue. Returns at once.
    func noteEvent(_ kind: EventKind, _ text: String) { catalogue.noteEvent(kind, text) }

    /// Records in the catalogue that a scene went on air.
    func noteScene(_ scene: SceneEvent) { catalogue.noteScene(scene) }

    /// The components that might still need finished files. Each can veto the deletion of a file.
    var vetoes: [any RetentionVeto] {
        let all: [(any RetentionVeto)?] = [
            HoldVeto(directory), ClipHold(directory: directory, channel: channel), catalogue, uploader,
        ]
        return all.compactMap { $0 }
    }

    /// Prepares the directory. If the file system does not answer within `patience`, this counts as a failure, because
    /// the program must go on air nevertheless, and because a service manager must not wait.
    private static func prepare(
        _ recording: ChannelConfiguration.Recording, _ patience: Duration?, _ collisions: CollisionCheck
    ) throws(ChannelFailure) -> RecordDirectory {
        let (path, template, mount, first) = (
            recording.directory, recording.template, recording.mount, recording.beside
        )
        let ask: @Sendable () -> Result<RecordDirectory, FileFailure> = {
            Result { () throws(FileFailure) in
                if let first, collisions.collides(first, path) {
                    throw FileFailure(
                        "record in", path, text: ChannelConfiguration.Recording.collision(of: path, and: first))
                }
                return try RecordDirectory.prepare(path, template: template, mount: mount, memory: .standard)
            }
        }
        switch patience.map({ Answer.of("relay.prepare", within: $0, ask) }) ?? ask() {
        case .success(let directory): return directory
        case .failure(let failure):
            throw ChannelFailure(
                .cannotRecord, .record(path),
                saying: "Recording is not possible: \(failure). Name a directory that this user may write to.",
                error: failure)
        case nil:
            throw ChannelFailure(
                .cannotRecord, .record(path),
                saying: "Recording is not possible: the file system of \(path) does not answer. Check the disk.")
        }
    }

    /// Throws if the file system does not answer `question` within `patience`. The place can have been prepared hours ago,
    /// before an input answered, and the disk can hang since then. The question itself has no answer to return; by default,
    /// it is about the mounted disk and its free space. If it hangs, its thread remains blocked.
    func checkDisk(
        within patience: Duration,
        asking question: @escaping @Sendable (RecordDirectory) -> Void = { directory in
            _ = try? directory.checkMount()
            _ = try? SystemFreeSpace().space(at: directory.path)
        }
    ) throws(ChannelFailure) {
        let answer = Answer.of("relay.prepare", within: patience) { [directory] in
            question(directory)
            return true
        }
        guard answer != nil else {
            throw ChannelFailure(
                .cannotRecord, .record(directory.path), because: "its file system does not answer")
        }
    }

    /// Begins to write the catalogue and to upload, and completes files that a crash left open. `group` is left when
    /// these files are completed. They are reported to ``observers`` and to `retention`. Returns at once.
    func start(in group: DispatchGroup, retention: Retention? = nil) {
        catalogue.start()
        uploader?.start()
        DispatchQueue(label: "relay.recovery", qos: .utility).async(group: group) {
            recover(for: retention.map { [$0] + observers } ?? observers)
        }
    }

    /// Uploads the waiting files, unless several uploads fail or ``cancelUploads()`` is called. Then writes the
    /// catalogue's pending entries, and calls `completion`. Returns at once.
    func finish(_ completion: @escaping @Sendable () -> Void) {
        // The catalogue is finished after the uploader, so that it contains the uploader's last entries.
        let last: @Sendable () -> Void = { [catalogue] in catalogue.finish(completion) }
        guard let uploader else { return last() }
        uploader.finish(last)
    }

    /// Stops uploading. Files that are not uploaded yet are uploaded when a recording in the same directory is next
    /// started. Returns at once.
    func cancelUploads() { uploader?.cancel() }

    /// Carries out an operator's order about the uploads. Returns at once; the result says whether there are uploads.
    func perform(_ order: UploadOrder) -> Bool {
        uploader?.perform(order)
        return uploader != nil
    }

    /// A snapshot of the uploads; nil if nothing is uploaded.
    var uploadStatus: UploadStatus? { uploader?.status }

    private func recover(for observers: [any RecordingObserver]) {
        // If the disk is not mounted yet, files that a crash left open are completed later, when the disk is mounted
        // and the recorder resumes.
        guard !directory.isAwaited else { return }
        if let nested = try? directory.nestedArchives(), !nested.isEmpty {
            let rest = nested.count > 5 ? " and \(nested.count - 5) more" : ""
            let names = nested.prefix(5).joined(separator: ", ") + rest
            logger.notice("left alone: other record directories below \(directory.path): \(names)")
        }
        do {
            for entry in try SegmentRecovery.run(in: directory, channel: channel) {
                report(entry)
                switch entry.outcome {
                case .completed(let name, _, _), .renamed(let name):
                    for observer in observers { observer.segmentRecovered(fileName: name) }
                case .setAside, .inUse, .failed: break
                }
            }
        } catch {
            logger.warning("could not look for files that a crash left open: \(error)")
        }
    }

    private func report(_ entry: SegmentRecovery.Entry) {
        switch entry.outcome {
        case .completed(let name, let frames, let dropped):
            logger.notice(
                "completed \(name), left open by a crash: \(frames) frames, \(dropped) damaged bytes left out")
        case .renamed(let name): logger.notice("completed \(name), left open by a crash")
        case .setAside(let name, let reason): logger.warning("set aside \(name), which cannot be played: \(reason)")
        case .inUse: logger.debug("\(entry.fileName) is being written")
        case .failed(let failure): logger.warning("could not complete \(entry.fileName): \(failure)")
        }
    }
}

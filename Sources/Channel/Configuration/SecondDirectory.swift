// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Logging
internal import Networking
internal import Upload

extension ChannelConfiguration.Recording {
    /// How long ``collision`` waits for the disks.
    private static let patience = Duration.seconds(3)

    /// The recording in the second directory; nil if there is no such directory. It has the same settings, and contains
    /// the program alone: sources are recorded and clips are taken in the first directory.
    package var second: ChannelConfiguration.Recording? {
        guard let also else { return nil }
        var second = self
        (second.directory, second.beside, second.also) = (also, directory, nil)
        (second.sources, second.replay) = ([], nil)
        second.upload = upload?.ofSecondDirectory
        return second
    }

    /// A sentence that says that the two record directories are the same, or that one of them is in the other: files of
    /// one recording would then be taken for those of the other. Nil if the directories are apart, if there is only one
    /// directory, and if the disks do not answer within 3 s. Blocks on the disks.
    package var collision: String? {
        guard let also else { return nil }
        let answer = Answer.of("relay.prepare", within: Self.patience) { [directory] in
            RecordDirectory.areNested(directory, also)
        }
        return answer == true ? Self.collision(of: also, and: directory) : nil
    }

    /// Returns a sentence that says that `second` and `first` are the same directory, or that one of them is in the
    /// other.
    static func collision(of second: String, and first: String) -> String {
        "\(second) and \(first) are the same directory, or one is in the other"
    }

    /// Returns `logger` for the log lines of this recording. If there are two record directories, each line names the
    /// directory of this recording.
    func logger(_ logger: Logger) -> Logger {
        guard also != nil || beside != nil else { return logger }
        var logger = logger
        logger[metadataKey: "directory"] = "\(directory)"
        return logger
    }
}

// SPDX-License-Identifier: Apache-2.0

internal import MP4

/// Whose file it is, as far as its first bytes say.
enum SegmentOrigin {
    /// The first bytes are what this program writes.
    case ours
    /// The file is empty, or has only zeros there, as a crash or a loss of power leaves a file that was just begun.
    case nothing
    /// The first bytes are another program's.
    case foreign

    /// Looks at the first bytes of `file`, a transport stream or an MP4.
    init(of file: FileDescriptor, isStream: Bool) throws(FileFailure) {
        let head = try file.read(at: 0, count: isStream ? TransportStreamFile.headSize : MovieBox.headSize)
        if head.allSatisfy({ $0 == 0 }) {
            self = .nothing
        } else if isStream ? TransportStreamFile.isOurs(head) : MovieBox.isHead(head) {
            self = .ours
        } else {
            self = .foreign
        }
    }
}

extension FileDescriptor {
    /// Whose recording the file is by its tags, which are at its beginning or, in an exported clip, at its end; nil if
    /// they are not this program's.
    var channel: String? {
        guard let layout = headLayout ?? (try? MovieFile.read(self).layout) else { return nil }
        return (try? MovieTagsReader.tags(layout.userData))?.channel
    }

    /// The tags at the file's beginning, which each recording and each salvaged copy has, and an exported clip has not;
    /// nil if there are no tags.
    var recordingTags: MovieTags? { (try? headLayout.flatMap { try MovieTagsReader.tags($0.userData) }) ?? nil }

    /// Whose recording a transport stream is by its service description; nil if that does not say it.
    var streamChannel: String? {
        (try? read(at: 0, count: TransportStreamFile.headSize)).flatMap(TransportStreamFile.channel)
    }

    private var headLayout: MovieLayout? { try? FragmentedFileReader(self).readHead()?.layout }
}

// SPDX-License-Identifier: Apache-2.0

internal import MP4

/// Whether relay wrote a file, as its first bytes show.
enum SegmentOrigin {
    /// The first bytes are relay's.
    case ours
    /// The file is empty or begins with zeros, as a crash or a loss of power can leave a file that was just created.
    case nothing
    /// The first bytes are another program's.
    case foreign

    /// Reads the first bytes of `file`, a transport stream or an MP4.
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
    /// The channel in the file's tags, which are at its beginning or, in an exported clip, at its end; nil without tags
    /// of relay.
    var channel: String? {
        guard let layout = headLayout ?? (try? MovieFile.read(self).layout) else { return nil }
        return (try? MovieTagsReader.tags(layout.userData))?.channel
    }

    /// The tags at the file's beginning; nil without tags. Every recording and every salvaged copy has them, but an
    /// exported clip does not.
    var recordingTags: MovieTags? { (try? headLayout.flatMap { try MovieTagsReader.tags($0.userData) }) ?? nil }

    /// The channel in a transport stream's service description; nil without one.
    var streamChannel: String? {
        (try? read(at: 0, count: TransportStreamFile.headSize)).flatMap(TransportStreamFile.channel)
    }

    private var headLayout: MovieLayout? { try? FragmentedFileReader(self).readHead()?.layout }
}

// SPDX-License-Identifier: Apache-2.0

internal import MP4

/// Whose file it is, as far as its first bytes say.
enum SegmentOrigin {
    /// They are what this program writes.
    case ours
    /// There are none, or nothing but zeros, as a crash or a loss of power leaves a file that was just begun.
    case nothing
    /// They are another program's.
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
    /// Whose recording the file is by its tags, which stand at its beginning or, in an exported clip, at its end; nil if
    /// they are not this program's.
    var channel: String? {
        let head = try? FragmentedFileReader(self).readHead()?.layout
        guard let layout = head ?? (try? MovieFile.read(self).layout) else { return nil }
        return (try? MovieTagsReader.tags(layout.userData))?.channel
    }
}

// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Networking

// The names under which a channel records, and its record directories.
extension ChannelConfiguration {
    /// How long ``nameRecordedTwice(with:)`` waits for the disks of two directories.
    private static let patience = Duration.seconds(3)

    /// The names under which the channel records: its own, and those of its sources if they are recorded.
    package var recordedNames: [String] {
        guard let recording else { return [] }
        return [name] + recording.sources.map { SegmentName.channel(name, source: $0) }
    }

    /// The record directories, each with the names under which the channel records there. Only the program is recorded
    /// in the second directory.
    private var recordedPlaces: [(String, [String])] {
        guard let recording else { return [] }
        var places = [(recording.directory, recordedNames)]
        if let also = recording.also { places.append((also, [name])) }
        return places
    }

    /// Returns a name under which both this channel and `other` would record in the same directory; nil if there is no
    /// such name. Blocks on the disks if two directories are written differently. If the disks do not answer within
    /// 3 s, these directories count as different.
    package func nameRecordedTwice(with other: ChannelConfiguration) -> String? {
        for (directory, names) in recordedPlaces {
            for (another, taken) in other.recordedPlaces {
                let twice = names.first { taken.contains($0) }
                if let twice, Self.areSame(directory, another) { return twice }
            }
        }
        return nil
    }

    private static func areSame(_ one: String, _ other: String) -> Bool {
        if one == other { return true }
        return Answer.of("relay.prepare", within: patience) { RecordDirectory.areSame(one, other) } ?? false
    }
}

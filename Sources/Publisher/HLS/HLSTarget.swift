// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Dispatch
package import FanOut
package import HLS
package import Media
internal import Networking

/// The target of an HLS output: a directory that a web server serves, with segments and the playlist `index.m3u8`.
package struct HLSTarget: OutputTarget {
    private let location: HLSLocation
    private let options: HLSOptions
    /// The queue on which all attempts of this output run. Two attempts therefore never write at the same time, and a
    /// file system that hangs blocks only one thread.
    private let queue: DispatchQueue
    /// The directory without symbolic links, so that two names of one directory are one place. If the disk does not
    /// answer in time, this is the path as it is written.
    private let directory: String

    /// How long the disk may take to say which directory a path means.
    private static let patience = Duration.seconds(3)

    /// Creates the target for the output `name`, which writes to the directory at `location`. Blocks on the disk, for
    /// at most 3 s.
    package init(location: HLSLocation, options: HLSOptions = HLSOptions(), name: String) {
        self.location = location
        self.options = options
        directory =
            Answer.of("relay.prepare", within: Self.patience) { RecordDirectory.real(location.path) } ?? location.path
        queue = DispatchQueue(label: "relay.hls.\(name)")
    }

    package var kind: OutputKindName { OutputKind.hls.name }
    package var displayAddress: String { location.description }
    package var place: OutputPlace? { OutputPlace("directory \(directory)") }

    package func conclude(_ completion: @escaping @Sendable (OutputFailure?) -> Void) {
        // All attempts of this output run on this queue, so this block runs after the last write of the previous
        // attempt.
        queue.async { [location, options] in
            do throws(OutputFailure) {
                try HLSWriter.conclude(location.path, options)
                completion(nil)
            } catch {
                completion(error)
            }
        }
    }

    package var carriage: Carriage { .hls }

    package func makeAttempt(
        queue packets: PacketQueue, description: StreamDescription, report: @escaping @Sendable (AttemptEvent) -> Void
    ) -> any OutputAttempt {
        let context = AttemptContext(on: queue, packets: packets, description: description, report: report)
        return HLSAttempt(location: location, options: options, context: context)
    }
}

// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
package import FanOut
package import HLS
package import Media

/// The target of an HLS output: a directory that a web server serves, with segments and the playlist `index.m3u8`.
package struct HLSTarget: OutputTarget {
    private let location: HLSLocation
    private let options: HLSOptions
    /// The queue on which all attempts of this output run. Two attempts therefore never write at the same time, and a
    /// file system that hangs blocks only one thread.
    private let queue: DispatchQueue
    private let directory: RealDirectory

    /// Creates the target for the output `name`, which writes to the directory at `location`.
    package init(location: HLSLocation, options: HLSOptions = HLSOptions(), name: String) {
        self.location = location
        self.options = options
        directory = RealDirectory(location.path)
        queue = DispatchQueue(label: "relay.hls.\(name)")
    }

    package var kind: OutputKindName { OutputKind.hls.name }
    package var displayAddress: String { location.description }
    package var place: OutputPlace? { OutputPlace("directory \(location.path)") }
    package var hasRealPlace: Bool { true }
    package var realPlace: OutputPlace? { OutputPlace("directory \(directory.value)") }

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
        return HLSAttempt(location: location, directory: directory, options: options, context: context)
    }
}

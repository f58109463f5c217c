// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
package import FanOut
package import HLS
package import Media
internal import Networking

/// A directory that a web server serves, with HLS segments and a playlist, `index.m3u8`.
package struct HLSTarget: OutputTarget {
    private let location: HLSLocation
    private let options: HLSOptions
    /// Shared by all attempts, so that two never write at the same time, and a file system that hangs blocks only one
    /// thread, regardless of the number of attempts.
    private let queue: DispatchQueue

    /// The directory at `location` for the output `name`.
    package init(location: HLSLocation, options: HLSOptions = HLSOptions(), name: String) {
        self.location = location
        self.options = options
        queue = DispatchQueue(label: "relay.hls.\(name)")
    }

    package var kind: String { "hls" }
    package var displayAddress: String { location.description }
    package var place: String? { location.description }

    package func conclude(_ completion: @escaping @Sendable (OutputFailure?) -> Void) {
        // The shared queue runs this after the last write of the previous attempt.
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
        HLSAttempt(
            location: location, options: options, queue: queue, packets: packets, description: description,
            report: report)
    }
}

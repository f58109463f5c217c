// SPDX-License-Identifier: Apache-2.0

internal import FanOut
internal import HLS
internal import Media
internal import Networking

extension OutputKind {
    /// The output kind HLS: segments and a playlist in a directory that a web server serves.
    package static let hls = OutputKind(
        "hls", beginnings: ["hls:"], title: "HLS", help: "hls:directory", options: HLSOptions.options,
        numbers: [.segments]
    ) { text, options, _ throws(AddressError) in
        HLSDestination(location: try HLSLocation(text), options: try HLSOptions(taking: &options))
    }
}

extension OutputNumber {
    /// The status number of HLS outputs that counts the segments written.
    static let segments = OutputNumber("segments", metric: "relay_output_segments_total", "HLS: segments written.")
}

/// A parsed `hls:` address: a directory, and the options for its segments and playlist.
private struct HLSDestination: OutputDestination {
    let location: HLSLocation
    let options: HLSOptions

    var directory: String? { location.path }

    func target(name: String, with _: OutputResources) throws(OutputFailure) -> any OutputTarget {
        HLSTarget(location: location, options: options, name: name)
    }

    func check(with _: OutputCheckResources) -> OutputFinding { DirectoryCheck.check(location.path) }
}

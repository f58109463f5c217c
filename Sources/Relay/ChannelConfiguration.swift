// SPDX-License-Identifier: Apache-2.0

internal import Encoder
internal import FanOut
internal import Ingest
internal import Media
internal import Publisher
internal import Segmenter

/// What one channel is to do: read, checked, and free of contradictions.
struct ChannelConfiguration {
    /// What the recorder and its guard are to do.
    struct Recording {
        var directory: String
        var length: SegmentLength
        /// The length to reserve space for.
        var expected: Duration
        var warning: Duration
        var reserve: ByteSize?
    }

    var name = "relay"
    var input = InputLocation("test:")
    var audioInput: InputLocation?
    var loops = false
    var isPaced = true
    var size: FrameSize?
    var frameRate: FrameRate?
    var duration: Duration?
    var encoder = EncoderSettings()
    var outputs: [OutputSpecification] = []
    var recording: Recording?
}

extension ChannelConfiguration {
    /// The outputs with their names: the given one, or the protocol and a number.
    func outputDefinitions(pool: RTMPWriterPool) -> [OutputDefinition] {
        var counts: [String: Int] = [:]
        return outputs.map { output in
            let kind = output.address.scheme
            counts[kind, default: 0] += 1
            let name = output.name ?? "\(kind)-\(counts[kind] ?? 0)"
            return OutputDefinition(
                name: name, target: output.address.target(name: name, pool: pool),
                backup: output.backup?.target(name: name, pool: pool), limits: output.limits, retry: output.retry)
        }
    }
}

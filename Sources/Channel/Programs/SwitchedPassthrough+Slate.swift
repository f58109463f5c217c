// SPDX-License-Identifier: Apache-2.0

internal import Ingest
internal import Logging
internal import Media
internal import SourceClock
internal import Synchronization

/// The slate of inputs that are passed through: one more input of the splicer, behind those of the list.
extension SwitchedPassthrough {
    /// Where the slate's packets go: they are those of one more input.
    private final class SlateTap: EncodedSlate.Sink {
        private let hasAudio: Bool
        private weak let owner: SwitchedPassthrough?

        init(_ owner: SwitchedPassthrough, hasAudio: Bool) { (self.owner, self.hasAudio) = (owner, hasAudio) }

        func begin(_ description: StreamDescription) {
            let stream = StreamDescription(
                video: description.video, audio: hasAudio ? description.audio : nil, data: [])
            let source = PacketSourceDescription(stream: stream, canWait: false, clock: .file, stampBits: nil)
            guard let owner else { return }
            owner.airState.withLock { $0.splicer.open(owner.slateIndex, source) }
        }

        func publish(_ packet: EncodedPacket) {
            guard let owner, hasAudio || packet.track == .video else { return }
            owner.publish(packet, of: owner.slateIndex, at: Timestamp(nanoseconds: owner.clock.now))
        }

        func finish() {}
    }

    /// The number of the slate among the splicer's inputs.
    var slateIndex: Int { names.count }

    /// Why there can be no slate in place of an input with these tracks; nil if there can.
    static func refusal(of stream: StreamDescription) -> String? {
        switch stream.video?.codec {
        case .h264: nil
        case let codec?: "the input is \(codec), and a slate can be encoded as H.264 alone"
        case nil: "the input is audio alone"
        }
    }

    func warnOfNoSlate(_ reason: String) {
        logger.warning("there can be no slate", metadata: ["reason": "\(reason)"])
    }

    /// Puts the slate on air from its first frame on, in place of an input that is coded as it can be.
    func show(_ slate: EncodedSlate?, in air: inout PassthroughAir) {
        guard let slate else { return }
        let known = names.indices.map { air.splicer.stream(of: $0) }
        let shown = air.shown ?? known.lazy.compactMap({ $0 }).first
        if let reason = shown.flatMap(Self.refusal) { return warnOfNoSlate(reason) }
        // The slate has silence in AAC only.
        let hasAudio = shown.map { $0.audio?.codec == .aac } ?? true
        air.closing.remove(slateIndex)
        air.splicer.show(slateIndex)
        slate.start(like: shown?.video, into: SlateTap(self, hasAudio: hasAudio))
    }

    /// Ends the slate, if it was not wanted again meanwhile.
    func shutSlate() {
        airState.withLock { air in
            guard choice.onAir != .slate else { return }
            slate?.stop()
            air.splicer.close(slateIndex)
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

internal import FanOut
internal import Ingest
package import Logging
package import Media
internal import Networking
internal import Publisher
internal import RTMP

/// The parts that a channel's listening inputs and outputs share: the process's RTMP server, the TLS certificate, and
/// the decisions about clients.
package struct ChannelListening: InputOpener {
    private let server: RTMPServer
    private let identity: TLSServerIdentity?
    private let onPublish: RTMPAuthorization?
    private let onPlay: RTMPAuthorization?
    private let channelOpening: ChannelOpening
    /// Whether the audio packets of inputs are re-encoded here. Such audio may have a codec that no output can carry.
    private let encodesCopiedAudio: Bool

    /// Reads the certificate that `configuration` names, if there is one. Blocks while it reads the certificate's
    /// files. Throws ``ChannelFailure``. If `opening` is cancelled, threads that are blocked on an input of this
    /// channel return with an error.
    package init(
        _ configuration: ChannelConfiguration, resources: HostResources, opening: ChannelOpening, logger: Logger
    ) throws(ChannelFailure) {
        channelOpening = opening
        server = resources.server
        encodesCopiedAudio = configuration.copying == .video
        let authorization = { (decision: ClientDecision) -> RTMPAuthorization in
            decision.authorization(channel: configuration.name, notice: { resources.notices.tell($0) })
        }
        onPublish = configuration.onPublish.map(authorization)
        onPlay = configuration.onPlay.map(authorization)
        do throws(OutputFailure) {
            identity = try configuration.certificate.map { (pair) throws(OutputFailure) in
                try TLSServerIdentity(certificate: pair.certificate, key: pair.key) { notice in
                    logger.log(level: notice.isError ? .error : .notice, "\(notice)")
                }
            }
        } catch {
            throw ChannelFailure(.configuration, .useCertificate, because: error.reason, error: error)
        }
    }

    /// Returns the source of the stream that clients publish to relay at `location`; nil if relay does not listen at
    /// this location. The source waits for a publisher that has a track of the kind `needs`, or for any publisher if
    /// `needs` is nil. Throws ``ChannelFailure`` if the address is wrong.
    func source(
        at location: InputLocation, needs: TrackKind?, clock: any MonotonicClock, logger: Logger
    ) throws(ChannelFailure) -> RTMPServerSource? {
        guard let address = location.rtmpListenAddress else { return nil }
        do throws(AddressError) {
            let url = try RTMPListenURL(address, for: .input)
            return RTMPServerSource(
                url, server: server, identity: identity(for: url), authorization: onPublish, needs: needs,
                clock: clock, logger: logger)
        } catch {
            throw ChannelFailure(
                .configuration, .openInput("\(location)"), saying: "The input \(location) cannot be opened: \(error)",
                error: error)
        }
    }

    /// Makes the source of the packets at `location`, without opening it. `opening` can cancel the source. Throws
    /// ``ChannelFailure`` if the address is wrong.
    func packets(
        at location: InputLocation, loops: Bool, needs: TrackKind?, opening: SourceOpening?, clock: any MonotonicClock,
        logger: Logger
    ) throws(ChannelFailure) -> any PacketSource {
        try source(at: location, needs: needs, clock: clock, logger: logger)
            ?? LibAVPacketSource(
                location, loops: loops, decodesOtherAudio: encodesCopiedAudio, logger: logger, opening: opening)
    }

    /// The certificate's expiry, in seconds since 1970; nil without a certificate.
    var certificateExpiry: Int? { identity?.expiry }

    func whenGivenUp(_ work: @escaping @Sendable () -> Void) { channelOpening.whenCancelled(work) }

    /// Opens `location` for decoding. If clients publish to relay at `location`, waits for a publisher. Blocks until
    /// the input answers. Throws ``ChannelFailure``, also if `opening` is cancelled.
    func open(
        _ location: InputLocation, _ options: IngestOptions, opening: SourceOpening?,
        clock: any MonotonicClock, logger: Logger
    ) throws(ChannelFailure) -> any MediaSource {
        let published = try source(at: location, needs: options.needs, clock: clock, logger: logger)
        let own = SourceOpening(logger: logger)
        // If the opening of the channel is cancelled, the source that is opened here must be cancelled, too. A caller
        // that passes its own `opening` cancels the source through that.
        if opening == nil { whenGivenUp { own.cancel() } }
        let opening = opening ?? own
        do throws(IngestError) {
            guard let published else {
                return try SourceOpener.open(location, options: options, logger: logger, opening: opening)
            }
            opening.whenCancelled { published.stop() }
            return try LiveSource(published, at: location, options: options, logger: logger, opening: opening)
        } catch {
            throw ChannelFailure(.inputUnreadable, .openInput("\(location)"), saidBy: error)
        }
    }

    /// Returns the resources from which outputs of `stream` are made. `writers` are the threads that write RTMP.
    func outputResources(writers: RTMPWriterPool, stream: PacketStream) -> OutputResources {
        OutputResources(writers: writers, server: server, identity: identity, onPlay: onPlay, stream: stream)
    }

    private func identity(for url: RTMPListenURL) -> TLSServerIdentity? { url.isSecure ? identity : nil }
}

/// The parts of a channel from which its outputs are made.
struct OutputContext: Sendable {
    /// The resources from which targets are made, with the packet stream that the output takes.
    var resources: OutputResources
    /// The streams of the program's further encodings, by rendition name.
    let renditions: [String: PacketStream]
    /// Whether the program was encoded elsewhere, and its packets are passed through unchanged.
    let isCopied: Bool

    /// Returns the context for an output that takes `rendition`; nil means the program's own encoding. Throws if no
    /// rendition has this name.
    func of(_ rendition: String?) throws(OutputFailure) -> OutputContext {
        guard let rendition else { return self }
        guard let stream = renditions[rendition] else {
            let names = renditions.keys.sorted()
            throw OutputFailure(
                .refused, step: "rendition",
                reason: [RenditionSpecification].unknown(rendition, among: names).description)
        }
        var context = self
        context.resources.stream = stream
        return context
    }
}

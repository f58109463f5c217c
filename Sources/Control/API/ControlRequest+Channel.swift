// SPDX-License-Identifier: Apache-2.0

internal import Library
internal import Media
internal import Studio

/// The channel of a request, and what belongs to it.
extension ControlRequest {
    /// Returns the channel that the path names.
    func channel(of host: any ControlledHost) throws(Refusal) -> any ControlledChannel {
        guard let channel = host.channel(try parameter("channel")) else {
            throw Refusal(.notFound, "There is no channel of this name.")
        }
        return channel
    }

    /// Returns the director of the channel. Throws if the channel has no program with several sources.
    func program(of host: any ControlledHost) throws(Refusal) -> Director { try channel(of: host).program() }

    /// Returns the recordings of the channel or, if the query contains a `source`, the recordings of that source.
    func archive(of host: any ControlledHost) throws(Refusal) -> ChannelArchive {
        let channel = try channel(of: host)
        if let source = query("source") {
            guard let archive = channel.archive(ofSource: source) else {
                throw Refusal(.notFound, "The channel records no source of this name.")
            }
            return archive
        }
        guard let archive = channel.archive else {
            throw Refusal(.notFound, "The channel has no directory of recordings.")
        }
        return archive
    }

    /// Returns the clips of the channel's recordings.
    func clips(of host: any ControlledHost) throws(Refusal) -> ClipStore {
        guard let clips = try channel(of: host).clips else {
            throw Refusal(
                .conflict, "A clip is a part of a recording, and the channel has no directory for one: --record.")
        }
        return clips
    }
}

/// The response to a request that changes a program: the frame at which the change takes effect.
struct ChangedFrame: Encodable { let frame: Int64 }

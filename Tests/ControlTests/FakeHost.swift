// SPDX-License-Identifier: Apache-2.0

import FanOut
import Media
import Status

@testable import Control
@testable import Library
@testable import Studio

/// A host with one scripted channel, for tests of what the server itself decides.
struct FakeHost: ControlledHost {
    /// The stream of the channel; nil while it is not on air.
    var stream: @Sendable () -> PacketStream? = { nil }

    var channels: [String] { ["main"] }
    func channel(_ name: String) -> (any ControlledChannel)? { name == "main" ? FakeChannel(stream: stream()) : nil }
    func reload() throws(Refusal) -> Int { throw Refusal(.conflict, "There is no file.") }
    var exports: ExportJobs { ExportJobs() }
    func startExport(_ request: ExportRequest) throws(Refusal) -> ExportJob {
        throw Refusal(.notFound, "There is no channel of this name.")
    }
    func planExport(_ request: ExportRequest) throws(Refusal) -> ExportPlan {
        throw Refusal(.notFound, "There is no channel of this name.")
    }
    var wrongStreamKeys: [String: UInt64] { ["rtmp": 3, "srt": 5] }
    func check(_ address: String) -> AddressCheck { AddressCheck([.init("address", .ok, "It is well formed.")]) }
}

/// A channel that cannot be changed.
struct FakeChannel: ControlledChannel {
    let stream: PacketStream?

    var report: ChannelReport { ChannelReport(name: "main", state: .waiting) }
    var archive: ChannelArchive? { nil }
    func archive(ofSource source: String) -> ChannelArchive? { nil }
    var clips: ClipStore? { nil }

    private var off: Refusal { Refusal(.unavailable, "The channel is not on air.") }

    func program() throws(Refusal) -> Director { throw off }
    func addOutput(_ address: String) throws(Refusal) -> String { throw off }
    func replaceOutput(_ name: String, by address: String) throws(Refusal) { throw off }
    func removeOutput(_ name: String) throws(Refusal) { throw off }
    func setPaused(_ isPaused: Bool, output name: String) throws(Refusal) { throw off }
    func retryOutput(_ name: String) throws(Refusal) { throw off }
    func startRecording() throws(Refusal) { throw off }
    func stopRecording() throws(Refusal) { throw off }
    func splitRecording() throws(Refusal) { throw off }
    func retryUploads() throws(Refusal) { throw off }
    func setUploaded(_ isWanted: Bool, recording id: String, source: String?) throws(Refusal) { throw off }
    func requestKeyframe() throws(Refusal) { throw off }
    func mark(_ text: String) throws(Refusal) -> Marker { throw off }
}

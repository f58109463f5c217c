// SPDX-License-Identifier: Apache-2.0

internal import FanOut
internal import Foundation
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import Media
internal import Status

/// The API of channels, their outputs and their commands.
struct ChannelRoutes {
    private struct List: Encodable {
        struct Entry: Encodable {
            let name: String
            let state: ChannelReport.State
            let isOnAir: Bool
            let isRecording: Bool
            let problems: Int
        }

        let channels: [Entry]
    }

    private static let path = "/v1/channels/{channel}"
    private static let output = "/v1/channels/{channel}/outputs/{output}"

    let host: any ControlledHost
    let reports: ReportCache

    var endpoints: [Endpoint] { looking + outputs + doing }

    private var looking: [Endpoint] {
        [
            Endpoint(.get, "/v1/channels", .view) { _ in
                JSON.response(
                    List(
                        channels: reports.all.map {
                            .init(
                                name: $0.name, state: $0.state, isOnAir: $0.isOnAir, isRecording: $0.isRecording,
                                problems: $0.problems)
                        }))
            },
            Endpoint(.get, Self.path, .view) { request in
                JSON.response(try request.channel(of: host).report)
            },
            Endpoint(.get, Self.path + "/outputs", .view) { request in
                JSON.response(["outputs": try request.channel(of: host).report.status?.outputs ?? []])
            },
            Endpoint(.get, Self.output, .view) { request in
                JSON.response(try output(try request.parameter("output"), of: try request.channel(of: host)))
            },
        ]
    }

    private var outputs: [Endpoint] {
        [
            Endpoint(.post, Self.path + "/outputs", .operate) { request in
                let channel = try request.channel(of: host)
                let asked = try await JSON.body(NewOutput.self, of: request)
                let name = try await Blocking.control.run { try channel.addOutput(asked.address) }
                let place = "\(request.request.uri.path)/\(Self.encoded(name))"
                return JSON.response(try output(name, of: channel), status: .created, headers: [.location: place])
            },
            Endpoint(.patch, Self.output, .operate) { request in
                let (channel, name) = (try request.channel(of: host), try request.parameter("output"))
                let change = try await JSON.body(OutputChange.self, of: request)
                guard !change.isEmpty else {
                    throw Refusal(.unusable, "There is nothing to change: give paused or address.")
                }
                _ = try output(name, of: channel)
                try await Blocking.control.run {
                    // The output is paused first, so that a paused output does not connect to its new address.
                    if change.paused == true { try channel.setPaused(true, output: name) }
                    if let address = change.address { try channel.replaceOutput(name, by: address) }
                    if change.paused == false { try channel.setPaused(false, output: name) }
                }
                return JSON.response(try output(name, of: channel))
            },
            Endpoint(.delete, Self.output, .operate) { request in
                try request.channel(of: host).removeOutput(try request.parameter("output"))
                return JSON.empty()
            },
            Endpoint(.post, Self.output + "/retry", .operate) { request in
                let (channel, name) = (try request.channel(of: host), try request.parameter("output"))
                try await Blocking.control.run { try channel.retryOutput(name) }
                return JSON.response(try output(name, of: channel), status: .accepted)
            },
        ]
    }

    private var doing: [Endpoint] {
        [
            Endpoint(.post, Self.path + "/recording/start", .operate) { request in
                let channel = try request.channel(of: host)
                try await Blocking.control.run { try channel.startRecording() }
                return JSON.response(channel.report, status: .accepted)
            },
            Endpoint(.post, Self.path + "/recording/stop", .operate) { request in
                let channel = try request.channel(of: host)
                try channel.stopRecording()
                return JSON.response(channel.report, status: .accepted)
            },
            Endpoint(.post, Self.path + "/recording/split", .operate) { request in
                let channel = try request.channel(of: host)
                try channel.splitRecording()
                return JSON.response(channel.report, status: .accepted)
            },
            Endpoint(.post, Self.path + "/uploads/retry", .operate) { request in
                try request.channel(of: host).retryUploads()
                return JSON.empty(.accepted)
            },
            Endpoint(.post, Self.path + "/keyframe", .operate) { request in
                try request.channel(of: host).requestKeyframe()
                return JSON.empty(.accepted)
            },
            Endpoint(.post, Self.path + "/markers", .operate) { request in
                let channel = try request.channel(of: host)
                let text = try await JSON.body(NewMarker.self, of: request).checked()
                let marker = try await Blocking.control.run { try channel.mark(text) }
                return JSON.response(marker, status: .created)
            },
        ]
    }

    private func output(_ name: String, of channel: any ControlledChannel) throws(Refusal) -> OutputStatus {
        guard let output = channel.report.status?.outputs.first(where: { $0.name == name }) else {
            throw Refusal(.notFound, "There is no output of this name.")
        }
        return output
    }

    private static func encoded(_ name: String) -> String {
        name.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed)?.replacing("/", with: "%2F") ?? name
    }
}

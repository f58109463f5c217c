// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import Library
internal import Media
internal import NIOCore
internal import Studio

/// The API of clips. A client marks the beginning and the end of a clip while a channel is recorded.
struct ClipRoutes {
    private struct NewClip: ClosedRequest {
        static var keys: [String] { ["id", "name", "at", "before"] }

        let id: String?
        let name: String?
        let at: Double?
        let before: Double?
    }
    private struct Stop: ClosedRequest {
        static var keys: [String] { ["at"] }

        let at: Double?
    }
    private struct NewName: ClosedRequest {
        static var keys: [String] { ["name"] }

        let name: String?
    }
    private struct NewExport: ClosedRequest {
        static var keys: [String] { ["handles", "exact"] }

        let handles: Bool?
        let exact: Bool?
    }

    private struct NewStitch: ClosedRequest {
        static var keys: [String] {
            let part = ["id", "skipStart", "skipEnd", "audioOffset"] + TransitionRequest.keys.inside("transition")
            return part.inside("clips") + ["name", "hold"]
        }

        struct Part: Decodable {
            let id: String
            let skipStart: Int64?
            let skipEnd: Int64?
            let transition: TransitionRequest?
            let audioOffset: Double?
        }
        let clips: [Part]
        let name: String?
        let hold: Bool?
    }

    private static let path = "/v1/channels/{channel}/clips"
    private static let clip = path + "/{clip}"
    private static let longestID = 64
    /// The largest value of `before`, which says how many seconds before the request a clip begins. Operators hardly
    /// ever want to begin a clip earlier.
    private static let longestBefore = 600.0
    /// The largest program time that is accepted: a year, in seconds.
    private static let latest = 31_536_000.0
    /// The maximum number of clips in one file.
    private static let mostParts = 1000
    /// The maximum number of frames that a request may leave out at the beginning or end of a clip. This number of
    /// frames lasts for many years.
    private static let mostSkipped: Int64 = 1 << 40
    /// The range, in seconds, in which a request can move the audio relative to the video.
    private static let offsets = -10.0...10.0

    let host: any ControlledHost

    var endpoints: [Endpoint] { looking + pressing + keeping }

    private var looking: [Endpoint] {
        [
            Endpoint(.get, Self.path, .view) { request in
                let clips = try request.clips(of: host)
                return JSON.response(["clips": try await Blocking.disk.run { try clips.list() }])
            },
            Endpoint(.get, Self.clip, .view) { request in
                let (clips, id) = (try request.clips(of: host), try request.parameter("clip"))
                return JSON.response(try await Blocking.disk.run { try clips.clip(id) })
            },
            Endpoint(.get, Self.path + "/project.yaml", .view) { request in
                let clips = try request.clips(of: host)
                return Self.yaml(try await Blocking.disk.run { try clips.project() })
            },
            // The method is POST because the request has a body. The request changes nothing.
            Endpoint(.post, Self.path + "/project.yaml", .view) { request in
                let clips = try request.clips(of: host)
                let parts = try Self.parts(try await JSON.body(NewStitch.self, of: request))
                return Self.yaml(try await Blocking.disk.run { try clips.project(parts) })
            },
        ]
    }

    private var pressing: [Endpoint] {
        [
            Endpoint(.post, Self.path, .operate) { request in
                let clips = try request.clips(of: host)
                // The newest program time is read before anything that takes time. A request without a time means the
                // moment at which it arrived.
                let now = clips.newest
                var asked = try Self.checked(try await JSON.optionalBody(NewClip.self, of: request))
                asked.newest = now
                let (clip, isNew) = try await Blocking.clips.run { [asked] in try clips.start(asked) }
                return JSON.response(
                    clip, status: isNew ? .created : .ok,
                    headers: [.location: "\(request.request.uri.path)/\(clip.id)"])
            },
            Endpoint(.post, Self.clip + "/stop", .operate) { request in
                let (clips, id) = (try request.clips(of: host), try Self.id(request.parameter("clip")))
                let now = clips.newest
                let at = try Self.moment(try await JSON.optionalBody(Stop.self, of: request)?.at)
                // If `stop` returns nil, the request that begins the clip has not arrived yet. The clip's end is
                // stored, and there is no clip to return.
                guard let clip = try await Blocking.clips.run({ try clips.stop(id, at: at, newest: now) }) else {
                    return JSON.empty(.accepted)
                }
                return JSON.response(clip)
            },
        ]
    }

    private var keeping: [Endpoint] {
        [
            Endpoint(.patch, Self.clip, .operate) { request in
                let (clips, id) = (try request.clips(of: host), try request.parameter("clip"))
                let name = try ClipName.checked(try await JSON.body(NewName.self, of: request).name)
                return JSON.response(try await Blocking.changes.run { try clips.rename(id, to: name) })
            },
            Endpoint(.delete, Self.clip, .operate) { request in
                let (clips, id) = (try request.clips(of: host), try request.parameter("clip"))
                try await Blocking.changes.run { try clips.remove(id) }
                return JSON.empty()
            },
            Endpoint(.post, Self.clip + "/export", .operate) { request in
                let (clips, id) = (try request.clips(of: host), try request.parameter("clip"))
                let asked = try await JSON.optionalBody(NewExport.self, of: request)
                let job = try await Blocking.changes.run {
                    var wanted = try clips.export(id, hasHandles: asked?.handles ?? false)
                    wanted.isExact = asked?.exact
                    let job = try host.startExport(wanted)
                    clips.exporting(id, job: job.id)
                    return job
                }
                return JSON.response(job, status: .accepted, headers: [.location: Self.place(of: job, request)])
            },
            Endpoint(.post, Self.path + "/plan", .operate) { request in
                let clips = try request.clips(of: host)
                let parts = try Self.parts(try await JSON.body(NewStitch.self, of: request))
                return JSON.response(try await Blocking.disk.run { try host.planExport(try clips.stitch(parts)) })
            },
            Endpoint(.post, Self.path + "/stitch", .operate) { request in
                let clips = try request.clips(of: host)
                let asked = try await JSON.body(NewStitch.self, of: request)
                let name = try ClipName.checked(asked.name)
                let parts = try Self.parts(asked)
                let job = try await Blocking.changes.run {
                    var wanted = try clips.stitch(parts)
                    wanted.name = name
                    return try host.startExport(wanted)
                }
                return JSON.response(job, status: .accepted, headers: [.location: Self.place(of: job, request)])
            },
        ]
    }

    private static func yaml(_ text: String) -> Response {
        Response(
            status: .ok, headers: [.contentType: "application/yaml", .cacheControl: "no-cache"],
            body: .init(byteBuffer: ByteBuffer(string: text)))
    }

    /// Returns the path of a job, including the prefix of the API's paths if there is one.
    private static func place(of job: ExportJob, _ request: ControlRequest) -> String {
        let path = request.request.uri.path
        return path[..<(path.firstRange(of: "/v1/")?.lowerBound ?? path.startIndex)] + "/v1/exports/\(job.id)"
    }

    private static func checked(_ asked: NewClip?) throws(Refusal) -> ClipStart {
        let before = asked?.before ?? 0
        guard (0...longestBefore).contains(before) else {
            throw Refusal(.unusable, "before is a number of seconds from 0 to \(Int(longestBefore)).")
        }
        return ClipStart(
            id: try asked?.id.map { (id) throws(Refusal) in try self.id(id) }, name: try ClipName.checked(asked?.name),
            at: try moment(asked?.at), before: before)
    }

    private static func parts(_ asked: NewStitch) throws(Refusal) -> [ClipPart] {
        guard (1...mostParts).contains(asked.clips.count) else {
            throw Refusal(.unusable, "clips is a list of 1 to \(mostParts) clips.")
        }
        var parts: [ClipPart] = []
        for part in asked.clips {
            let (start, end, offset) = (part.skipStart ?? 0, part.skipEnd ?? 0, part.audioOffset ?? 0)
            let seconds = part.transition?.seconds ?? 0
            guard (0...mostSkipped).contains(start), (0...mostSkipped).contains(end) else {
                throw Refusal(.unusable, "skipStart and skipEnd are numbers of frames.")
            }
            guard offsets.contains(offset) else {
                throw Refusal(.unusable, "audioOffset is a number of seconds from -10 to 10.")
            }
            guard part.transition?.stinger == nil else {
                throw Refusal(.unusable, "Clips are not put together with stingers.")
            }
            guard (0...TransitionRequest.longest).contains(seconds) else {
                throw Refusal(.unusable, "A transition lasts from 0 to \(Int(TransitionRequest.longest)) seconds.")
            }
            parts.append(
                ClipPart(
                    id: try id(part.id), skipped: (start, end), transition: part.transition,
                    audioOffset: .seconds(offset), isHeldOn: asked.hold ?? false))
        }
        return parts
    }

    private static func moment(_ seconds: Double?) throws(Refusal) -> Double? {
        guard let seconds else { return nil }
        guard (0...latest).contains(seconds) else { throw Refusal(.unusable, "at is a program time in seconds.") }
        return seconds
    }

    private static func id(_ text: String) throws(Refusal) -> String {
        let isPlain = text.utf8.allSatisfy { byte in
            (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte) || byte == 45
        }
        guard (1...longestID).contains(text.utf8.count), isPlain else {
            throw Refusal(.unusable, "A clip's id has 1 to \(longestID) letters, digits and hyphens.")
        }
        return text
    }
}

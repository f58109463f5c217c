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
    private static let path = "/v1/channels/{channel}/clips"
    private static let clip = path + "/{clip}"

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
                var asked = try Self.start(try await JSON.optionalBody(NewClip.self, of: request))
                asked.newest = now
                let (clip, isNew) = try await Blocking.clips.run { [asked] in try clips.start(asked) }
                return JSON.response(
                    clip, status: isNew ? .created : .ok,
                    headers: [.location: "\(request.request.uri.path)/\(clip.id)"])
            },
            Endpoint(.post, Self.clip + "/stop", .operate) { request in
                let (clips, id) = (try request.clips(of: host), try ClipID.checked(request.parameter("clip")))
                let now = clips.newest
                let at = try ClipMoment.checked(try await JSON.optionalBody(ClipStop.self, of: request)?.at)
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
                let name = try ClipName.checked(try await JSON.body(NewClipName.self, of: request).name)
                return JSON.response(try await Blocking.changes.run { try clips.rename(id, to: name) })
            },
            Endpoint(.delete, Self.clip, .operate) { request in
                let (clips, id) = (try request.clips(of: host), try request.parameter("clip"))
                try await Blocking.changes.run { try clips.remove(id) }
                return JSON.empty()
            },
            Endpoint(.post, Self.clip + "/export", .operate) { request in
                let (clips, id) = (try request.clips(of: host), try request.parameter("clip"))
                let asked = try await JSON.optionalBody(NewClipExport.self, of: request)
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

    private static func start(_ asked: NewClip?) throws(Refusal) -> ClipStart {
        try asked?.check()
        return ClipStart(id: asked?.id, name: asked?.name, at: asked?.at, before: asked?.before ?? 0)
    }

    private static func parts(_ asked: NewStitch) throws(Refusal) -> [ClipPart] {
        try asked.check()
        return asked.clips.map { part in
            ClipPart(
                id: part.id, skipped: (part.skipStart ?? 0, part.skipEnd ?? 0), transition: part.transition,
                audioOffset: .seconds(part.audioOffset ?? 0), isHeldOn: asked.hold ?? false)
        }
    }
}

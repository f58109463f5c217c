// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg

/// Detects where a program map of a transport stream in a file changes the coding of a stream. libavformat keeps the
/// first coding of a PID: if video and audio exchange their PIDs, it reads each of them as the other. So the file ends
/// there for its demuxer, and another demuxer continues with the bytes that follow.
///
/// libavformat reports the version of each map. When a version changes, two parts of the file are read a second time:
/// its beginning, to learn the coding that the demuxer knows, and the bytes that contain the new map.
struct FileMapWatch {
    /// How much of the beginning of the file is read to find its first map, in bytes.
    private static let head: Int64 = 1 << 20
    /// How far before the demuxer's position the section of a new map can begin, in bytes.
    private static let margin: Int64 = 16 << 10
    /// The maximum number of bytes that are searched for a new map. If the demuxer has read more bytes than this for
    /// one packet, no change is detected.
    private static let longest: Int64 = 16 << 20

    /// The part of a file after a change.
    struct Change: Equatable {
        /// The offset of the first byte after the new map.
        let offset: Int64
        /// The packets of the newest tables. A demuxer can start with them.
        let tables: [UInt8]
    }

    private let path: String
    /// The versions of the maps, in the order of libavformat's programs.
    private var versions: [Int32] = []
    /// The bytes after the change; nil until a coding has changed.
    private(set) var rest: TransportStreamBytes?

    /// Creates a watch of the file at `path`.
    init(_ path: String) { self.path = path }

    /// Looks for a change after `context` has read a packet, from byte `place` of the file on. `followed` are the PIDs
    /// of the streams that matter; nil means all. Returns whether there is a change, so that the file must end here.
    mutating func note(
        _ context: UnsafeMutablePointer<AVFormatContext>, from place: Int64, following followed: Set<Int>?
    ) -> Bool {
        guard isNew(context), let bytes = context.pointee.pb,
            let change = Self.change(in: path, place..<max(place, avio_skip(bytes, 0)), following: followed),
            let source = FileBytes(path, from: change.offset)
        else { return false }
        rest = TransportStreamBytes(source, behind: change.tables)
        return true
    }

    /// Whether the version of a map has changed since the last call.
    private mutating func isNew(_ context: UnsafeMutablePointer<AVFormatContext>) -> Bool {
        var isNew = false
        for index in 0..<Int(context.pointee.nb_programs) {
            guard let version = context.pointee.programs?[index]?.pointee.pmt_version else { continue }
            if index >= versions.count {
                versions.append(version)
            } else if versions[index] != version {
                versions[index] = version
                isNew = true
            }
        }
        return isNew
    }

    /// The first change in the bytes `range` of the file at `path`: a map there gives one of the `followed` PIDs
    /// another coding than the first map of the file. Nil without such a map. If `followed` is nil, all PIDs count.
    static func change(in path: String, _ range: Range<Int64>, following followed: Set<Int>?) -> Change? {
        let start = max(0, range.lowerBound - margin)
        guard range.upperBound - start <= longest, let beginning = FileBytes(path, from: 0),
            let following = FileBytes(path, from: start)
        else { return nil }
        var watch = ProgramMapWatch(trustsEachMap: true)
        watch.followed = followed
        // The demuxer knows the first coding. If the beginning of the file already contains a change, reading therefore
        // ends before that change.
        _ = read(beginning.bytes(Int(min(head, start))), into: &watch, keepsCoding: true)
        let bytes = following.bytes(Int(range.upperBound - start))
        guard let end = read(bytes, into: &watch, keepsCoding: false) else { return nil }
        return Change(offset: start + Int64(end), tables: watch.head)
    }

    /// Reads the transport packets in `bytes`. Stops at the first map with another coding, and returns the offset after
    /// the packet that completes this map; nil if there is no such map. With `keepsCoding`, `watch` does not learn that
    /// map.
    private static func read(_ bytes: [UInt8], into watch: inout ProgramMapWatch, keepsCoding: Bool) -> Int? {
        bytes.withUnsafeBytes { bytes in
            var place = 0
            func isSync(_ place: Int) -> Bool { place >= bytes.count || bytes[place] == TransportStreamBytes.syncByte }
            while place + ProgramMapWatch.packetBytes <= bytes.count {
                let end = place + ProgramMapWatch.packetBytes
                // The bytes need not begin with a packet.
                guard isSync(place), isSync(end) else {
                    place += 1
                    continue
                }
                let packet = UnsafeRawBufferPointer(rebasing: bytes[place..<end])
                place = end
                var next = watch
                let isChanged = next.read(packet)
                if !isChanged || !keepsCoding { watch = next }
                if isChanged { return place }
            }
            return nil
        }
    }
}

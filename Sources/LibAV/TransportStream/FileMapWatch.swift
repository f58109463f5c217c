// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg

/// Detects where a program map of a transport stream in a file changes the coding or the PID of a stream. libavformat
/// keeps the first coding of a PID: if video and audio exchange their PIDs, it reads each of them as the other. So the
/// file ends there for its demuxer, and another demuxer continues with the bytes that follow.
///
/// libavformat reports the versions of the maps, and the streams that they list. When one of them changes, the file is
/// read a second time: its beginning, for the coding that the demuxer knows, and the bytes in which the new map came.
/// For the part of the file that was probed, and after a seek, the versions do not show a change, so the bytes of the
/// file alone decide.
struct FileMapWatch {
    /// How much of the beginning of the file is read to find its first map, in bytes.
    private static let head: Int64 = 1 << 20
    /// How far before the demuxer's position the section of a new map can begin, in bytes.
    private static let margin: Int64 = 16 << 10
    /// How much of the file behind a position of the demuxer is read, in bytes. The next map is nearer: maps follow
    /// each other within 0.5 s (ETSI TR 101 290, 5.2.1).
    private static let longest: Int64 = 16 << 20

    /// The part of a file after a change.
    struct Change: Equatable {
        /// The offset of the first byte after the new map.
        let offset: Int64
        /// The packets of the newest tables. A demuxer can start with them.
        let tables: [UInt8]
    }

    private let path: String
    /// The version and the streams of each map, in the order of libavformat's programs. Files that were joined can have
    /// the same version in all maps.
    private var versions: [[Int]]
    /// The PIDs in the maps at the beginning of the file.
    private let first: Set<Int>
    /// The bytes after the change; nil until a coding has changed.
    private(set) var rest: TransportStreamBytes?

    /// Creates a watch of the file at `path`, which `context` has opened.
    init(_ path: String, _ context: UnsafeMutablePointer<AVFormatContext>) {
        self.path = path
        versions = Self.versions(of: context)
        var watch = ProgramMapWatch(isFile: true)
        if let beginning = FileBytes(path, from: 0) {
            _ = Self.read(beginning.bytes(Int(Self.head)), into: &watch, keepsCoding: true)
        }
        first = watch.listedPIDs
    }

    /// Whether the stream `pid` is not in the maps at the beginning of the file. libavformat has read the end of the
    /// file, too, and knows the streams there. They must not be discarded: without a packet of them, libavformat would
    /// read from a change to the end of the file before it returns.
    func isLater(_ pid: Int) -> Bool { !first.isEmpty && !first.contains(pid) }

    /// The whole file, if a map in its first `probed` bytes changes the coding or the PID of one of the `followed`
    /// PIDs. These bytes end at each change. Nil without such a map.
    func wholeFile(ifChangedIn probed: Int64, following followed: Set<Int>) -> TransportStreamBytes? {
        guard Self.change(in: path, 0..<min(probed, Self.longest), following: followed) != nil,
            let source = FileBytes(path, from: 0)
        else { return nil }
        let bytes = TransportStreamBytes(whole: source)
        bytes.follow(followed)
        return bytes
    }

    /// Looks for a change after `context` has read a packet, from byte `place` of the file on. `followed` are the PIDs
    /// of the streams that matter; nil means all. Returns whether there is a change, so that the file must end for
    /// `context`.
    mutating func note(
        _ context: UnsafeMutablePointer<AVFormatContext>, from place: Int64, following followed: Set<Int>?
    ) -> Bool {
        guard isNew(context), let bytes = context.pointee.pb else { return false }
        return end(at: Self.change(in: path, place..<max(place, avio_skip(bytes, 0)), following: followed))
    }

    /// Looks for a change after `context` was made to continue at byte `place` of the file: the next map there decides.
    /// To find a time, libavformat has read maps anywhere in the file, so its versions do not show whether that map is
    /// new. Returns whether there is a change, so that the file must end for `context`.
    mutating func noteSeek(
        _ context: UnsafeMutablePointer<AVFormatContext>, to place: Int64, following followed: Set<Int>?
    ) -> Bool {
        versions = Self.versions(of: context)
        return end(at: Self.change(in: path, behind: place, following: followed))
    }

    private mutating func end(at change: Change?) -> Bool {
        guard let change, let source = FileBytes(path, from: change.offset) else { return false }
        rest = TransportStreamBytes(restOf: source, behind: change.tables)
        return true
    }

    /// Whether a map has changed since the last call.
    private mutating func isNew(_ context: UnsafeMutablePointer<AVFormatContext>) -> Bool {
        let before = versions
        versions = Self.versions(of: context)
        return versions != before
    }

    private static func versions(of context: UnsafeMutablePointer<AVFormatContext>) -> [[Int]] {
        (0..<Int(context.pointee.nb_programs)).compactMap { place in
            guard let program = context.pointee.programs?[place]?.pointee else { return nil }
            let streams = (0..<Int(program.nb_stream_indexes)).compactMap { program.stream_index?[$0] }
            return [Int(program.pmt_version)] + streams.map(Int.init)
        }
    }

    /// The first change in the bytes `range` of the file at `path`: a map there gives one of the `followed` PIDs
    /// another coding than the first map of the file, or lists other PIDs in its place. Nil without such a map. If
    /// `followed` is nil, all PIDs count.
    static func change(in path: String, _ range: Range<Int64>, following followed: Set<Int>?) -> Change? {
        change(in: path, from: max(0, range.lowerBound - margin), to: range.upperBound, following: followed)
    }

    /// The first change behind byte `place` of the file at `path`. Nil if a map before that change still gives one of
    /// the `followed` PIDs the coding of the file's first map, because then nothing has changed at `place`.
    static func change(in path: String, behind place: Int64, following followed: Set<Int>?) -> Change? {
        change(in: path, from: place, to: place + longest, following: followed, upToKnown: true)
    }

    private static func change(
        in path: String, from start: Int64, to end: Int64, following followed: Set<Int>?, upToKnown: Bool = false
    ) -> Change? {
        guard let beginning = FileBytes(path, from: 0), let following = FileBytes(path, from: start) else {
            return nil
        }
        var watch = ProgramMapWatch(isFile: true)
        watch.followed = followed
        // The demuxer knows the first coding. If the beginning of the file already contains a change, reading therefore
        // ends before that change.
        _ = read(beginning.bytes(Int(min(head, start))), into: &watch, keepsCoding: true)
        watch.awaitConfirmation()
        let bytes = following.bytes(Int(min(end - start, longest)))
        guard let place = read(bytes, into: &watch, keepsCoding: false, upToKnown: upToKnown) else { return nil }
        return Change(offset: start + Int64(place), tables: watch.head)
    }

    /// Reads the transport packets in `bytes`. Stops at the first map with another coding or other PIDs, and returns
    /// the offset after the packet that completes this map; nil if there is no such map. With `keepsCoding`, `watch`
    /// does not learn that map. With `upToKnown`, also ends behind the first map that gives a watched stream its known
    /// coding.
    private static func read(
        _ bytes: [UInt8], into watch: inout ProgramMapWatch, keepsCoding: Bool, upToKnown: Bool = false
    ) -> Int? {
        bytes.withUnsafeBytes { bytes in
            var place = 0
            func isSync(_ place: Int) -> Bool { place >= bytes.count || bytes[place] == TransportStreamBytes.syncByte }
            while place + ProgramMapWatch.packetBytes <= bytes.count, !(upToKnown && watch.hasConfirmed) {
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

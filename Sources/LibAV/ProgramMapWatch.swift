// SPDX-License-Identifier: Apache-2.0

/// Reads the tables of a transport stream (ISO/IEC 13818-1, 2.4.4) from its packets, and detects when a program map
/// table (PMT, called map here) changes the coding of a stream. This is necessary because libavformat keeps the first
/// coding of a PID. In a file, it also detects other PIDs.
///
/// This type is a value, and does no I/O.
struct ProgramMapWatch: Sendable {
    /// The size of a transport packet in bytes.
    static let packetBytes = 188

    /// A stream's coding in the map: its stream type, and for private data (type 6) also the formats that its
    /// descriptors name.
    private struct Coding: Hashable {
        let type: UInt8
        let formats: [UInt8]
    }

    /// The coding of one stream according to the maps.
    private struct Stream {
        var coding: Coding
        /// The version of the newest map with the current coding.
        var version: UInt8
        /// Number of consecutive maps with the current coding.
        var count = 1
        /// Another coding, and the number of consecutive maps that had it.
        var next: (coding: Coding, count: Int)?
    }

    /// If the coding was in at least this many consecutive maps, a single map with another coding counts as a change.
    private static let knownCount = 5
    /// While the coding was in fewer consecutive maps, it takes this many consecutive maps with another coding for a
    /// change, unless the first of them has the next version: a sender counts the versions of its map up (2.4.4.9). So
    /// if two senders use one address and their maps alternate, the coding of one of them stays in use.
    private static let surprisingCount = 10
    /// The number of versions that a map can have; then they begin again (2.4.4.9).
    private static let versions: UInt8 = 32

    /// An incomplete section of a table, with the transport packets that carried it.
    private struct Section {
        var bytes: [UInt8] = []
        var packets: [UInt8] = []
    }

    /// The maximum length of a map section, in bytes (2.4.4.8: `section_length` up to 1021).
    private static let longestSection = 1024
    /// `stream_type` of private data in PES packets (table 2-34).
    private static let privateData: UInt8 = 6
    /// The tags of descriptors that name the format of private data: registration, AC-3, E-AC-3, DTS, AAC, extension
    /// (ETSI EN 300 468, table 12).
    private static let namingDescriptors: Set<UInt8> = [0x05, 0x6A, 0x7A, 0x7B, 0x7C, 0x7F]

    /// Whether the transport stream is in a file. A file has one sender, so a single map with another coding always
    /// counts as a change. A map with other PIDs counts, too: libavformat also reads the end of a file when it opens
    /// the file, so the streams with the new PIDs exist from the opening on, and ``Demuxer/streamContinued(by:)`` does
    /// not apply to them.
    private let isFile: Bool
    /// The PIDs of the streams to watch; nil for all.
    var followed: Set<Int>?
    /// For each PID, the packets of the newest program association table (PAT) or map. A demuxer can start with them.
    private var tables: [Int: [UInt8]] = [:]
    private var mapPIDs: Set<Int> = []
    private var sections: [Int: Section] = [:]
    private var streams: [Int: Stream] = [:]
    /// The programs in the newest PAT.
    private var programs: Set<Int> = []
    /// The PIDs in the newest map of each program.
    private var listed: [Int: Set<Int>] = [:]
    /// Whether a map has given a watched stream the coding that was known before, since the last
    /// ``awaitConfirmation()``.
    private(set) var hasConfirmed = false

    /// Creates a watch that knows no streams yet.
    init(isFile: Bool = false) { self.isFile = isFile }

    /// The packets of the newest tables, for a demuxer that starts in the middle of the stream.
    var head: [UInt8] { (tables[0] ?? []) + mapPIDs.sorted().flatMap { tables[$0] ?? [] } }

    /// The PIDs in the newest maps of all programs.
    var listedPIDs: Set<Int> { listed.values.reduce(into: []) { $0.formUnion($1) } }

    /// Sets ``hasConfirmed`` to false.
    mutating func awaitConfirmation() { hasConfirmed = false }

    /// Reads one transport packet. Returns whether it completes a map that changes the coding of a watched stream or,
    /// in a file, its PID.
    mutating func read(_ packet: UnsafeRawBufferPointer) -> Bool {
        let pid = Int(packet[1] & 0x1F) << 8 | Int(packet[2])
        guard pid == 0 || mapPIDs.contains(pid), packet[1] & 0x80 == 0, let start = Self.payload(of: packet) else {
            return false
        }
        let isStart = packet[1] & 0x40 != 0
        var section = isStart ? Section() : sections[pid] ?? Section()
        guard isStart || !section.bytes.isEmpty else { return false }
        // A section starts after the pointer field. If an earlier section ends in the same packet, its end is skipped.
        let first = isStart ? start + 1 + Int(packet[start]) : start
        guard first < packet.count else { return false }
        section.bytes += packet[first...]
        section.packets += packet
        let length = section.bytes.count > 2 ? 3 + (Int(section.bytes[1] & 0x0F) << 8 | Int(section.bytes[2])) : .max
        guard section.bytes.count >= length else {
            sections[pid] = section.bytes.count < Self.longestSection ? section : nil
            return false
        }
        sections[pid] = nil
        let content = Array(section.bytes.prefix(length))
        // A section is damaged if the remainder of its CRC is not 0 (annex A).
        guard length > 12, content[5] & 1 == 1, SpliceSection.checksum(content[...]) == 0 else { return false }
        tables[pid] = section.packets
        return pid == 0 ? associate(content) : map(content)
    }

    /// Offset of the payload in `packet`; nil if the packet has no payload.
    private static func payload(of packet: UnsafeRawBufferPointer) -> Int? {
        guard packet[3] & 0x10 != 0 else { return nil }
        let start = packet[3] & 0x20 == 0 ? 4 : 5 + Int(packet[4])
        return start < packet.count - 1 ? start : nil
    }

    /// Reads a program association section (2.4.4.3).
    private mutating func associate(_ section: [UInt8]) -> Bool {
        guard section[0] == 0 else { return false }
        // The section with number 0 starts a new table.
        if section[6] == 0 { (mapPIDs, programs) = ([], []) }
        for place in stride(from: 8, to: section.count - 7, by: 4) {
            let program = Int(section[place]) << 8 | Int(section[place + 1])
            guard program != 0 else { continue }
            programs.insert(program)
            mapPIDs.insert(Int(section[place + 2] & 0x1F) << 8 | Int(section[place + 3]))
        }
        let kept = mapPIDs.union([0])
        tables = tables.filter { kept.contains($0.key) }
        sections = sections.filter { kept.contains($0.key) }
        return false
    }

    /// Reads a program map section (2.4.4.8).
    private mutating func map(_ section: [UInt8]) -> Bool {
        guard section[0] == 2 else { return false }
        var isChanged = false
        var pids: Set<Int> = []
        var place = 12 + (Int(section[10] & 0x0F) << 8 | Int(section[11]))
        let end = section.count - 4
        while place + 5 <= end {
            let pid = Int(section[place + 1] & 0x1F) << 8 | Int(section[place + 2])
            let next = place + 5 + (Int(section[place + 3] & 0x0F) << 8 | Int(section[place + 4]))
            guard next <= end else { break }
            pids.insert(pid)
            let type = section[place]
            let formats = type == Self.privateData ? Self.formats(section[place + 5..<next]) : []
            let coding = Coding(type: type, formats: formats)
            let (isKnown, isOther) = note(coding, of: pid, version: section[5] >> 1 & (Self.versions - 1))
            if followed?.contains(pid) ?? true {
                isChanged = isChanged || isOther
                hasConfirmed = hasConfirmed || isKnown
            }
            place = next
        }
        let isMoved = notePIDs(pids, of: Int(section[3]) << 8 | Int(section[4]))
        return isChanged || isFile && isMoved
    }

    /// Records the PIDs that a map of `program` lists. Returns whether the map lists a new PID while a watched PID is
    /// missing. The PIDs of a new program are compared with those of the programs that are gone.
    private mutating func notePIDs(_ pids: Set<Int>, of program: Int) -> Bool {
        let gone = listed.filter { !programs.contains($0.key) }
        let before = listed[program] ?? gone.values.reduce(into: Set<Int>()) { $0.formUnion($1) }
        for former in gone.keys { listed[former] = nil }
        listed[program] = pids
        let missing = before.subtracting(pids)
        return !pids.isSubset(of: before) && !missing.isDisjoint(with: followed ?? missing)
    }

    /// Records the coding that one map of this version gives for the stream `pid`. Returns whether this coding was
    /// known before, and whether it counts as a change.
    private mutating func note(_ coding: Coding, of pid: Int, version: UInt8) -> (isKnown: Bool, isChange: Bool) {
        guard var stream = streams[pid] else {
            streams[pid] = Stream(coding: coding, version: version)
            return (false, false)
        }
        defer { streams[pid] = stream }
        guard stream.coding != coding else {
            stream.version = version
            stream.count += 1
            stream.next = nil
            return (true, false)
        }
        let count = stream.next?.coding == coding ? (stream.next?.count ?? 0) + 1 : 1
        let isExpected = stream.count >= Self.knownCount || version == (stream.version + 1) % Self.versions
        guard isFile || isExpected || count >= Self.surprisingCount else {
            (stream.count, stream.next) = (0, (coding, count))
            return (false, false)
        }
        stream = Stream(coding: coding, version: version)
        return (false, true)
    }

    /// The formats that `descriptors` name for private data.
    private static func formats(_ descriptors: ArraySlice<UInt8>) -> [UInt8] {
        var (found, rest): ([UInt8], ArraySlice<UInt8>) = ([], descriptors)
        while rest.count >= 2, let tag = rest.first {
            let count = min(rest.count, 2 + Int(rest[rest.startIndex + 1]))
            // A registration descriptor names the format by four letters, and an extension descriptor by its extension
            // tag.
            let named = tag == 0x05 ? rest.prefix(6).dropFirst(2) : tag == 0x7F ? rest.prefix(3).dropFirst(2) : []
            if namingDescriptors.contains(tag) { found += [tag] + named }
            rest = rest.dropFirst(count)
        }
        return found
    }
}

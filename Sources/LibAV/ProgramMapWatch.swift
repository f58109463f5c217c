// SPDX-License-Identifier: Apache-2.0

/// Reads the tables of a transport stream (ISO/IEC 13818-1, 2.4.4) as its packets pass by, and finds the map that gives
/// one of its streams another coding. libavformat keeps the coding that a PID had first.
///
/// A value without I/O of its own.
struct ProgramMapWatch: Sendable {
    /// The bytes of a transport packet.
    static let packetBytes = 188

    /// How a map says that a stream is coded: its stream type, and for private data (type 6) what its descriptors name.
    private struct Coding: Hashable {
        let type: UInt8
        let formats: [UInt8]
    }

    /// What the maps say of one stream.
    private struct Stream {
        var coding: Coding
        /// How many maps in a row said so last.
        var count = 1
        /// Another coding, and how many maps in a row said that since.
        var next: (coding: Coding, count: Int)?
    }

    /// How many maps in a row make a coding known, so that the first map with another one is believed.
    private static let knownCount = 5
    /// How many maps in a row must say otherwise before. Two senders at one address, whose maps alternate, stay at the
    /// coding of one of them.
    private static let surprisingCount = 10

    /// A section under way, with the transport packets that brought it.
    private struct Section {
        var bytes: [UInt8] = []
        var packets: [UInt8] = []
    }

    /// The longest section of a map, in bytes (2.4.4.8: `section_length` up to 1021).
    private static let longestSection = 1024
    /// `stream_type` of private data in PES packets (table 2-34).
    private static let privateData: UInt8 = 6
    /// Descriptors that name the coding of private data: registration, AC-3, E-AC-3, DTS, AAC, extension (ETSI EN 300 468,
    /// table 12).
    private static let namingDescriptors: Set<UInt8> = [0x05, 0x6A, 0x7A, 0x7B, 0x7C, 0x7F]

    /// The PIDs of the streams whose coding counts; nil for all.
    var followed: Set<Int>?
    /// The newest packets of the association table and of each map, from which a demuxer can begin.
    private var tables: [Int: [UInt8]] = [:]
    private var mapPIDs: Set<Int> = []
    private var sections: [Int: Section] = [:]
    private var streams: [Int: Stream] = [:]

    /// A watch over streams that it does not know yet.
    init() {}

    /// The newest tables as packets: what a demuxer needs that begins in mid-stream.
    var head: [UInt8] { (tables[0] ?? []) + mapPIDs.sorted().flatMap { tables[$0] ?? [] } }

    /// Reads one transport packet. Returns whether it completes a map by which a followed stream is coded in another way
    /// than the map before said.
    mutating func read(_ packet: UnsafeRawBufferPointer) -> Bool {
        let pid = Int(packet[1] & 0x1F) << 8 | Int(packet[2])
        guard pid == 0 || mapPIDs.contains(pid), packet[1] & 0x80 == 0, let start = Self.payload(of: packet) else {
            return false
        }
        let isStart = packet[1] & 0x40 != 0
        var section = isStart ? Section() : sections[pid] ?? Section()
        guard isStart || !section.bytes.isEmpty else { return false }
        // A section starts behind the pointer field; the rest of an earlier one is of no use without its beginning.
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
        // A section with an error has no remainder of 0 (annex A).
        guard length > 12, content[5] & 1 == 1, SpliceSection.checksum(content[...]) == 0 else { return false }
        tables[pid] = section.packets
        return pid == 0 ? associate(content) : map(content)
    }

    /// Where the payload of `packet` begins; nil if it has none.
    private static func payload(of packet: UnsafeRawBufferPointer) -> Int? {
        guard packet[3] & 0x10 != 0 else { return nil }
        let start = packet[3] & 0x20 == 0 ? 4 : 5 + Int(packet[4])
        return start < packet.count - 1 ? start : nil
    }

    /// Takes in a program association section (2.4.4.3).
    private mutating func associate(_ section: [UInt8]) -> Bool {
        guard section[0] == 0 else { return false }
        // The first section begins a new table.
        if section[6] == 0 { mapPIDs = [] }
        for place in stride(from: 8, to: section.count - 7, by: 4) {
            let program = Int(section[place]) << 8 | Int(section[place + 1])
            if program != 0 { mapPIDs.insert(Int(section[place + 2] & 0x1F) << 8 | Int(section[place + 3])) }
        }
        let kept = mapPIDs.union([0])
        tables = tables.filter { kept.contains($0.key) }
        sections = sections.filter { kept.contains($0.key) }
        return false
    }

    /// Takes in a program map section (2.4.4.8).
    private mutating func map(_ section: [UInt8]) -> Bool {
        guard section[0] == 2 else { return false }
        var isChanged = false
        var place = 12 + (Int(section[10] & 0x0F) << 8 | Int(section[11]))
        let end = section.count - 4
        while place + 5 <= end {
            let pid = Int(section[place + 1] & 0x1F) << 8 | Int(section[place + 2])
            let next = place + 5 + (Int(section[place + 3] & 0x0F) << 8 | Int(section[place + 4]))
            guard next <= end else { break }
            let type = section[place]
            let formats = type == Self.privateData ? Self.formats(section[place + 5..<next]) : []
            if note(Coding(type: type, formats: formats), of: pid), followed?.contains(pid) ?? true { isChanged = true }
            place = next
        }
        return isChanged
    }

    /// Takes in what a map says of the stream `pid`. Returns whether it is coded in another way from here on.
    private mutating func note(_ coding: Coding, of pid: Int) -> Bool {
        guard var stream = streams[pid] else {
            streams[pid] = Stream(coding: coding)
            return false
        }
        defer { streams[pid] = stream }
        guard stream.coding != coding else {
            stream.count += 1
            stream.next = nil
            return false
        }
        let count = stream.next?.coding == coding ? (stream.next?.count ?? 0) + 1 : 1
        guard stream.count >= Self.knownCount || count >= Self.surprisingCount else {
            (stream.count, stream.next) = (0, (coding, count))
            return false
        }
        stream = Stream(coding: coding)
        return true
    }

    /// What `descriptors` name the coding of private data by.
    private static func formats(_ descriptors: ArraySlice<UInt8>) -> [UInt8] {
        var (found, rest): ([UInt8], ArraySlice<UInt8>) = ([], descriptors)
        while rest.count >= 2, let tag = rest.first {
            let count = min(rest.count, 2 + Int(rest[rest.startIndex + 1]))
            // A registration says it by its four letters, an extension by its tag.
            let named = tag == 0x05 ? rest.prefix(6).dropFirst(2) : tag == 0x7F ? rest.prefix(3).dropFirst(2) : []
            if namingDescriptors.contains(tag) { found += [tag] + named }
            rest = rest.dropFirst(count)
        }
        return found
    }
}

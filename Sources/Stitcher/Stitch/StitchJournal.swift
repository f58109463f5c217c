// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Foundation
internal import LibAV
internal import Media

/// Stores the frames that were encoded for a result so far, in a hidden file in the same directory, so that an
/// interrupted run can be resumed. Used by one thread.
///
/// The file is a list of records. A record begins with the length of its description (four bytes, most significant
/// first). The description in JSON follows. In all records but the first, the packets follow, one after the other. A
/// record contains all packets of one run of an encoder, from its first frame to its last. An incomplete record ends
/// the list; a record whose packets do not match their digest is ignored.
final class StitchJournal {
    /// The output of one run of an encoder.
    struct Session: Codable {
        /// `first` is the first frame of the result that was passed to the encoder, `frames` the number of frames.
        var first: Int
        var frames: Int
        /// The content of the encoder's `avcC`.
        var configuration: [UInt8]
        /// The packets in the order of decoding.
        var packets: [Packet]
        /// SHA-256 of all packets.
        var digest: [UInt8] = []
    }

    /// The time and size of a packet: `pts` in frames of the result, `size` in bytes.
    struct Packet: Codable {
        var pts: Int64
        var size: Int
        var isSync: Bool
    }

    private struct Header: Codable {
        var job: [UInt8]
        /// When the first run of the job began, in milliseconds since 1970.
        var start: Int64
    }

    private static let (prefix, longest): (Int64, Int) = (4, 16 << 20)

    /// When the first run of the job began.
    private(set) var start = UTCTime.now
    private let descriptor: FileDescriptor
    private var end: Int64 = 0
    private var sessions: [Int: (session: Session, place: Int64)] = [:]

    /// Opens the journal that an earlier run for `output` left behind. Begins a new journal if there is no such file,
    /// or if that file belongs to another `job`. Throws if another process is using the file.
    init(of output: String, job: [UInt8]) throws {
        let path = FinishedFile.journal(beside: output)
        let existing = try? FileDescriptor.open(existing: path)
        descriptor = try existing ?? FileDescriptor.create(path)
        guard Self.isOurs(descriptor) else {
            throw FileFailure("create", output, text: "\(path) is not what an interrupted run left; remove it")
        }
        guard descriptor.lockCreated() else {
            throw FileFailure("create", output, text: "another process is making it")
        }
        if let header = try record(at: 0, of: Header.self), header.value.job == job {
            start = UTCTime(milliseconds: header.value.start)
            end = header.end
            try readSessions()
            try descriptor.truncate(to: end)
        } else {
            try descriptor.truncate(to: 0)
            try write(Header(job: job, start: start.milliseconds), [])
            FileDescriptor.synchroniseDirectory(of: path)
        }
    }

    /// Whether `file` can be a journal: it is too short for a record, or begins like a journal.
    private static func isOurs(_ file: FileDescriptor) -> Bool {
        guard let begin = try? file.read(at: 0, count: Int(prefix) + 1) else { return false }
        return begin.count <= Int(prefix) || begin[0] == 0 && begin[Int(prefix)] == UInt8(ascii: "{")
    }

    /// The number of bytes that the journal takes on the disk.
    func size() throws -> Int64 { try descriptor.size() }

    // The lock is released explicitly, because closing the descriptor does not always release it: a child process that
    // is being started can hold a copy of the descriptor, and therefore the lock, for a moment longer.
    deinit { descriptor.unlock() }

    /// Removes the journal that an earlier run for `output` left behind, unless another process is using it.
    static func discard(of output: String) {
        let path = FinishedFile.journal(beside: output)
        guard let file = try? FileDescriptor.open(existing: path), isOurs(file) else { return }
        FinishedFile.removeUnused(path)
    }

    /// Removes the journal. Call it when the result is complete.
    func remove() throws { try FinishedFile.remove(descriptor) }

    /// The run of an encoder that began with frame `first` of the result, and its packets; nil if no such run is
    /// stored, or if its packets are damaged.
    func session(at first: Int) throws -> (session: Session, packets: [SharedBytes])? {
        guard let (session, place) = sessions[first] else { return nil }
        var (offset, packets): (Int64, [SharedBytes]) = (place, [])
        for packet in session.packets {
            packets.append(SharedBytes(try descriptor.read(at: offset, count: packet.size)))
            offset += Int64(packet.size)
        }
        return try Self.digest(of: packets) == session.digest ? (session, packets) : nil
    }

    /// Appends the output of one run of an encoder.
    func append(_ session: Session, _ packets: [SharedBytes]) throws {
        var session = session
        session.digest = try Self.digest(of: packets)
        try write(session, packets)
    }

    private static func digest(of packets: [SharedBytes]) throws -> [UInt8] {
        guard let digest = SHA256() else { throw ClipFailure("There is no memory left.") }
        for packet in packets { packet.withUnsafeBytes { digest.update($0) } }
        return digest.finish()
    }

    private func write(_ description: some Encodable, _ packets: [SharedBytes]) throws {
        let text = try JSONEncoder().encode(description)
        let length = withUnsafeBytes(of: UInt32(text.count).bigEndian) { Array($0) }
        let pieces = [SharedBytes(length + text)] + packets
        try descriptor.write(pieces, at: end)
        end += pieces.reduce(0) { $0 + Int64($1.count) }
        try descriptor.synchronise()
    }

    private func readSessions() throws {
        let size = try descriptor.size()
        while let record = try record(at: end, of: Session.self) {
            var next = record.end
            for packet in record.value.packets {
                guard packet.size >= 0, Int64(packet.size) <= size - next else { return }
                next += Int64(packet.size)
            }
            let (first, frames) = (record.value.first, Int64(record.value.packets.count))
            guard first >= 0, frames > 0, record.value.frames == frames,
                record.value.packets.map(\.pts).sorted().elementsEqual((0..<frames).map { Int64(first) &+ $0 })
            else { return }
            sessions[record.value.first] = (record.value, record.end)
            end = next
        }
    }

    /// The description of the record at `offset`, and the offset at which the description ends; nil if there is no
    /// complete description.
    private func record<Value: Decodable>(at offset: Int64, of type: Value.Type) throws -> (value: Value, end: Int64)? {
        let prefix = try descriptor.read(at: offset, count: Int(Self.prefix))
        guard prefix.count == Int(Self.prefix) else { return nil }
        let length = prefix.reduce(0) { $0 << 8 | Int($1) }
        guard length <= Self.longest else { return nil }
        let text = try descriptor.read(at: offset + Self.prefix, count: length)
        guard text.count == length, let value = try? JSONDecoder().decode(type, from: Data(text)) else { return nil }
        return (value, offset + Self.prefix + Int64(length))
    }
}

// SPDX-License-Identifier: Apache-2.0

import Glibc
import Media

@testable import Control
@testable import HLS
@testable import Ingest
@testable import LibAV
@testable import SRT

/// Parses `text` as another server's playlist, as a list of redirections, and as relay's own playlist, which must be
/// read back unchanged.
func readPlaylist(_ text: String) {
    if let head = PlaylistHead(text) {
        var watch = PlaylistWatch(target: head.target ?? .seconds(6))
        for second in [0, 60, 120] { _ = watch.note(head, at: .zero + .seconds(second), waitingSince: .zero) }
        _ = head.segmentsBeforeLastChange
        for offset: Int64? in [nil, 0] {
            _ = head.segments(before: InitializationAddress(url: "http://media.example/live/init.mp4", offset: offset))
        }
    }
    redirect(text)
    if let own = HLSPlaylist(parsing: text) {
        guard HLSPlaylist(parsing: own.text) == own else { abort() }
        _ = own.successor(targetSeconds: 6).text
    }
}

/// Follows each line of `text` as a redirection. The input's headers must be sent only to the first server.
private func redirect(_ text: String) {
    let first = "https://media.example:8443/live/index.m3u8"
    var redirection = HTTPRedirection(first)
    for line in text.split(whereSeparator: \.isNewline) {
        guard redirection.follow(status: 302, location: String(line)) else { break }
    }
    guard HTTPRedirection.isHTTP(redirection.url) else { abort() }
    guard !redirection.keepsHeaders || ServerAddress(redirection.url) == ServerAddress(first) else { abort() }
    _ = HTTPRedirection.withoutUser(redirection.url)
}

/// Reads `bytes` as transport packets, and as the content of tables with correct checksums, because a fuzzer does not
/// find a correct checksum.
func readTables(_ bytes: [UInt8]) {
    for packets in [bytes, tables(of: bytes)] {
        for isFile in [false, true] {
            var watch = ProgramMapWatch(isFile: isFile)
            packets.withUnsafeBytes { packets in
                let size = ProgramMapWatch.packetBytes
                for start in stride(from: 0, to: packets.count - size + 1, by: size) {
                    _ = watch.read(UnsafeRawBufferPointer(rebasing: packets[start..<start + size]))
                }
            }
            guard watch.listedPIDs.allSatisfy({ (0..<8192).contains($0) }) else { abort() }
            guard watch.head.count % ProgramMapWatch.packetBytes == 0 else { abort() }
        }
    }
}

/// The PID of the program maps.
private let mapPID = 0x100

/// Returns transport packets with the tables that `bytes` describe. Each description is a byte that selects a program
/// map or a program association table, a byte with the length, and the content after `section_length`.
private func tables(of bytes: [UInt8]) -> [UInt8] {
    var (packets, rest) = ([UInt8](), bytes[...])
    while let kind = rest.popFirst(), let length = rest.popFirst() {
        let isMap = kind & 1 == 1
        let content = rest.prefix(Int(length))
        rest = rest.dropFirst(content.count)
        let section = sealed(isMap ? 2 : 0, content)
        packets += transport([0] + section, pid: isMap ? mapPID : 0)
    }
    return packets
}

/// Returns a section of the table `table`: its head with the length, `content`, and the checksum.
private func sealed(_ table: UInt8, _ content: ArraySlice<UInt8>) -> [UInt8] {
    let length = content.count + 4
    let head: [UInt8] = [table, 0xB0 | UInt8(length >> 8), UInt8(length & 0xFF)]
    return SpliceSection.sealed(head + Array(content))
}

/// Returns transport packets with `payload`. The header of the first one says that a section begins.
private func transport(_ payload: [UInt8], pid: Int) -> [UInt8] {
    var packets: [UInt8] = []
    for start in stride(from: 0, to: payload.count, by: 184) {
        let part = Array(payload[start..<min(start + 184, payload.count)])
        let flag: UInt8 = start == 0 ? 0x40 : 0
        let head: [UInt8] = [0x47, flag | UInt8(pid >> 8), UInt8(pid & 0xFF), 0x10]
        packets += head + part + [UInt8](repeating: 0xFF, count: 184 - part.count)
    }
    return packets
}

/// Reads `bytes` as a splice section and as an initialization section. A splice section that is moved and moved back
/// must be unchanged.
func readSections(_ bytes: [UInt8]) {
    _ = SpliceSection.shifted(bytes, by: 1)
    let section = sealed(0xFC, bytes.prefix(4000))
    let ticks = Int64(bytes.count) << 20
    if let moved = SpliceSection.shifted(section, by: ticks) {
        guard SpliceSection.shifted(moved, by: -ticks) == section else { abort() }
    }
    _ = InitializationSection(bytes)
}

/// Reads `text` as the stream ID of an SRT caller, and as the range in an HTTP request.
func readRequest(_ text: String) {
    let (caller, own) = (SRTStreamID(text), SRTStreamID("#!::r=channel,u=user"))
    guard caller.isAnswered(by: caller) else { abort() }
    guard !own.isAnswered(by: caller) || (caller.resource == "channel" && caller.user == "user") else { abort() }
    for size: Int64 in [0, 1, 1000, .max] {
        switch ByteRange(text, size: size) {
        case .part(let range): guard range.lowerBound >= 0, range.upperBound <= size, !range.isEmpty else { abort() }
        case .whole, .unsatisfiable: break
        }
    }
}

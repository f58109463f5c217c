// SPDX-License-Identifier: Apache-2.0

import Glibc
import Media

@testable import Archive
@testable import Library
@testable import Segmenter
@testable import Stitcher

private enum FuzzDirectory {
    /// A directory in memory that the script makes.
    static let path = getenv("RELAY_FUZZ_DIRECTORY").map { String(cString: $0) } ?? "/dev/shm"
}

/// Reads `bytes` as a file that an earlier run of relay left, of the kind that `kind` selects, or as the names of
/// files.
func readNotes(_ bytes: [UInt8], _ kind: Int) {
    switch kind % 4 {
    case 0: readClock(bytes)
    case 1: readNames(String(decoding: bytes, as: UTF8.self))
    case 2: readJournal(bytes)
    default: readExports(bytes)
    }
}

/// Reads `bytes` as the clock's state, and its numbers as one with a correct checksum. Retention then judges its clock
/// by that.
private func readClock(_ bytes: [UInt8]) {
    let text = String(decoding: bytes, as: UTF8.self)
    let numbers = text.split(separator: " ").compactMap { Int64($0) }
    var clocks = [RememberedClock(text: text)]
    if numbers.count >= 7 {
        let clock = RememberedClock(
            lastSeen: UTCTime(milliseconds: numbers[0]), isConfirmed: numbers[1] & 1 == 1,
            least: .init(length: numbers[1], left: numbers[2]), greatest: .init(length: numbers[3], left: numbers[4]),
            lag: .init(length: numbers[5], left: numbers[6]))
        clocks.append(RememberedClock(text: clock.text))
    }
    for clock in clocks.compactMap(\.self) {
        require(RememberedClock(text: clock.text) == clock)
        var trust = ClockTrust(RetentionRules(maximumAge: .seconds(86_400 * 30)), memory: clock)
        for step: Int64 in [0, 1, 3600, 864_000] {
            let reading = ClockTrust.Reading(
                wall: UTCTime(milliseconds: 1_800_000_000_000 + step * 1000), now: .zero + .seconds(step),
                isConfirmed: step > 3600)
            trust.read(reading) { nil }
            for limit in [ClockTrust.Limit.least, .greatest] {
                for isOwn in [false, true] { require(trust.lead(limit, isOwn: isOwn, at: reading) >= 0) }
            }
            let memory = trust.memory(reading)
            require(RememberedClock(text: memory.text) == memory)
        }
    }
}

/// Reads the first line of `text` as a template of names, and the other ones as names of files.
private func readNames(_ text: String) {
    var lines = text.split(separator: "\n").prefix(64)
    guard let first = lines.popFirst() else { return }
    let template = (try? NameTemplate(parsing: String(first))) ?? .standard
    if template != .standard { require((try? NameTemplate(parsing: template.text)) == template) }
    for line in lines {
        let name = String(line)
        for read in [
            SegmentName(fileName: name), SegmentName(fileName: name, channel: "cam 1", template: template),
            SegmentName(usedBy: name, channel: "cam 1", template: template),
        ] {
            require(read?.sequence ?? 0 >= 0)
            _ = read?.closed(attempt: 2)
        }
    }
}

/// Reads `bytes` as what an interrupted run of `relay stitch` left.
private func readJournal(_ bytes: [UInt8]) {
    let output = "\(FuzzDirectory.path)/fuzz.mp4"
    let path = FinishedFile.journal(beside: output)
    put(bytes, path)
    defer { unlink(path) }
    guard let journal = try? StitchJournal(of: output, job: [1]) else { return }
    for first in 0..<4 {
        guard let found = try? journal.session(at: first) else { continue }
        require(found.packets.map(\.count) == found.session.packets.map(\.size))
        require(found.session.frames == found.packets.count)
    }
    // What was read is kept, and what is added is read back.
    guard let size = try? journal.size() else { return }
    require(size <= bytes.count + 100)
}

/// Reads `bytes` as the note beside an exported clip.
private func readExports(_ bytes: [UInt8]) {
    let directory = "\(FuzzDirectory.path)/exports"
    mkdir(directory, 0o700)
    mkdir("\(directory)/.relay-exports", 0o700)
    put(bytes, "\(directory)/.relay-exports/1.json")
    put([], "\(directory)/.relay-exports/1.mp4")
    guard let place = (try? RecordDirectory.existing(directory)).map({ ExportPlace(directory: $0) }) else { return }
    for note in place.notes() {
        require(note.job.id == "1" && note.from < note.to && note.job.state == .done)
        _ = (UTCTime(milliseconds: note.from).extended, UTCTime(milliseconds: note.to).extended)
    }
}

private func put(_ bytes: [UInt8], _ path: String) {
    let descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC, 0o600)
    guard descriptor >= 0, pwrite(descriptor, bytes, bytes.count, 0) == bytes.count else { abort() }
    close(descriptor)
}

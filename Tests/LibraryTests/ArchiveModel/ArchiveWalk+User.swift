// SPDX-License-Identifier: Apache-2.0

import Archive
import Foundation
import Media
import RecordingSamples
import TestSupport

/// Operations of users and other programs in the directories.
extension ArchiveWalk {
    private var ours: [UInt8] { SampleRecording(seconds: 1, channel: channel).closed }
    private var theirs: SampleRecording { SampleRecording(seconds: 1, channel: otherChannel) }
    private static let junk = [UInt8](repeating: 0x20, count: 900)

    /// Adds recordings to the directory above, in which another relay records a channel of the same name.
    func addNeighbour() throws {
        for number in 1...3 {
            let name = standardName(number)
            try above.write(ours, to: name)
            let stamp = try FileDescriptor.open(readOnly: above.path(name)).stamp()
            surroundings.others[name] = stamp
        }
        try above.write([], to: ".relay-archive-above")
    }

    /// A file name by the standard template, of this channel or of the other channel.
    private func standardName(_ number: Int, isOther: Bool = false) -> String {
        SegmentName(channel: isOther ? otherChannel : channel, start: SampleRecording.start, sequence: number).closed
    }

    /// Adds files that relay must not touch.
    func addForeignFile() throws {
        guard !isReadOnly else { return }
        let number = 800_000 + nextNumber()
        switch Int.random(in: 0..<9, using: &random) {
        case 0: try add(ours, "keep/\(standardName(number))")
        case 1: try add(ours, "interview \(number).mp4")
        case 2: try add(Self.junk, standardName(number))
        case 3: try add(Self.junk, standardName(number) + ".part")
        case 4: try add(theirs.closed, standardName(number, isOther: true))
        case 5: try add(theirs.open, standardName(number, isOther: true) + ".part")
        case 6: try add(Self.junk, "notes \(number).txt")
        case 7:
            let template = try NameTemplate(parsing: names)
            let start = UTCTime(milliseconds: SampleRecording.start.milliseconds + Int64(number) * 1000)
            let name = SegmentName(channel: otherChannel, start: start, sequence: number, template: template)
            try add(theirs.closed, name.closed)
        default:
            // Adds another record directory, in which files are named after this channel.
            let mark = Bool.random(using: &random) ? ".relay-archive-\(number)" : ".relay.sqlite"
            try add([], "inner \(number)/\(mark)")
            try add(ours, "inner \(number)/\(standardName(number))")
            try add(Self.junk, "inner \(number)/\(standardName(number + 1)).part")
        }
        scan()
    }

    private func add(_ bytes: [UInt8], _ name: String) throws {
        guard !FileManager.default.fileExists(atPath: "\(place.path)/\(name)") else { return }
        note("somebody makes \(name)")
        let file = URL(fileURLWithPath: "\(place.path)/\(name)")
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(bytes).write(to: file)
        let age = Int64.random(in: 0...100, using: &random) * 3_600_000
        Self.date(file.path, at: UTCTime(milliseconds: time.wall.milliseconds - age))
        place.others[name] = try FileDescriptor.open(readOnly: file.path).stamp()
    }

    /// Renames, moves or copies a recording, or moves a recording back.
    func moveFile() throws {
        guard !isReadOnly else { return }
        if Int.random(in: 0..<3, using: &random) == 0, try moveBack() { return }
        guard !place.files.isEmpty else { return }
        let name = random.pick(place.names)
        let last = String(name.split(separator: "/").last ?? "")
        switch Int.random(in: 0..<5, using: &random) {
        case 0: try give(name, to: "interview \(nextNumber()).mp4", isCopy: false)
        case 1: try give(name, to: "keep/\(nextNumber()) \(last)", isCopy: false)
        case 2: try give(name, to: "copy \(nextNumber()) of \(last)", isCopy: true)
        case 3: try rename(name, to: standardName(500_000 + nextNumber()))
        default: try moveAway(name)
        }
        scan()
    }

    /// Moves or copies the recording `name` to a name that makes it a user's own file.
    private func give(_ name: String, to target: String, isCopy: Bool) throws {
        note("somebody \(isCopy ? "copies" : "moves") \(name) to \(target)")
        let path = "\(place.path)/\(target)"
        try FileManager.default.createDirectory(
            at: URL(fileURLWithPath: path).deletingLastPathComponent(), withIntermediateDirectories: true)
        if isCopy {
            try FileManager.default.copyItem(atPath: "\(place.path)/\(name)", toPath: path)
        } else {
            try FileManager.default.moveItem(atPath: "\(place.path)/\(name)", toPath: path)
            place.files[name] = nil
        }
        place.others[target] = try FileDescriptor.open(readOnly: path).stamp()
    }

    /// Renames the recording `name` to another name that relay could have chosen, so that it remains a recording.
    private func rename(_ name: String, to target: String) throws {
        note("somebody renames \(name) to \(target)")
        try FileManager.default.moveItem(atPath: "\(place.path)/\(name)", toPath: "\(place.path)/\(target)")
        guard var file = place.files.removeValue(forKey: name) else { return }
        // Under the new name, the file is uploaded again.
        (file.isUploaded, file.isExempt, file.mayRepeat, file.awaitsStart) = (false, false, true, true)
        place.files[target] = file
        place.usedNames.insert(target)
    }

    private func moveAway(_ name: String) throws {
        guard let file = place.files[name] else { return }
        let path = closet.path("away \(nextNumber())")
        note("somebody takes \(name) away")
        try FileManager.default.moveItem(atPath: "\(place.path)/\(name)", toPath: path)
        place.files[name] = nil
        away.append((place, name, file, path))
    }

    /// Moves back a recording that was moved out of this directory. Returns whether there was such a recording.
    private func moveBack() throws -> Bool {
        guard let index = away.indices.first(where: { away[$0].place === place }) else { return false }
        let (_, name, known, path) = away.remove(at: index)
        let target = "\(place.path)/\(name)"
        // Another file may have the recording's name by now.
        guard !FileManager.default.fileExists(atPath: target) else { return false }
        note("somebody brings \(name) back")
        try FileManager.default.createDirectory(
            at: URL(fileURLWithPath: target).deletingLastPathComponent(), withIntermediateDirectories: true)
        try FileManager.default.moveItem(atPath: path, toPath: target)
        var file = known
        // The file was missing when its turn to be uploaded came, and relay has given its upload up.
        (file.isExempt, file.mayRepeat, file.awaitsStart) = (true, true, true)
        place.files[name] = file
        scan()
        return true
    }

    /// Truncates a recording or changes some of its bytes, without a change of its modification date.
    func damageFile() throws {
        guard !place.files.isEmpty else { return }
        let name = random.pick(place.names)
        let path = "\(place.path)/\(name)"
        let file = try FileDescriptor.open(existing: path)
        let size = try file.size()
        guard size > 0, let written = place.files[name]?.stamp.modified else { return }
        switch Int.random(in: 0..<3, using: &random) {
        case 0:
            note("\(name) is truncated")
            try file.truncate(to: Int64.random(in: 0..<size, using: &random))
        case 1:
            note("a block of \(name) is zeros")
            let start = Int64.random(in: 0..<size, using: &random)
            let count = Int(min(512, size - start))
            try file.write([SharedBytes([UInt8](repeating: 0, count: count))], at: start)
        default:
            note("bytes of \(name) are flipped")
            for _ in 0..<8 {
                let offset = Int64.random(in: 0..<size, using: &random)
                try file.write([SharedBytes(random.bytes(1))], at: offset)
            }
        }
        Self.date(path, at: UTCTime(milliseconds: written / 1_000_000))
        place.files[name]?.stamp = try file.stamp()
        place.files[name]?.isDamaged = true
        place.ambiguousNames.insert(name)
        scan()
    }

    // MARK: Another process

    /// Lets another process begin to record the channel in the directory, or lets it end. The file that it has open and
    /// locked must stay as it is, even if an operator deletes it.
    func toggleRival() throws {
        guard !isReadOnly else { return }
        if let rival = place.rival {
            note("the other process ends, and removes \(rival.name)")
            place.rival = nil
            place.others[rival.name] = nil
            try FileManager.default.removeItem(atPath: "\(place.path)/\(rival.name)")
        } else {
            let closed = standardName(400_000 + nextNumber())
            let name = closed + SegmentName.openMark
            try add(SampleRecording(seconds: 2, channel: channel).open, name)
            let file = try FileDescriptor.open(existing: "\(place.path)/\(name)")
            guard file.lock() else { return fault("\(name), which was just made, is locked") }
            note("another process records \(name)")
            place.rival = (name, file)
            keepRivalWriting()
            tryToDelete(closed)
        }
        scan()
    }

    /// Dates the open file of another process as one to which it writes.
    func keepRivalWriting() {
        guard let (name, file) = place.rival else { return }
        Self.date("\(place.path)/\(name)", at: time.wall)
        place.others[name] = try? file.stamp()
    }
}

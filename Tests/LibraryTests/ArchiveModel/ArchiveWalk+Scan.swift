// SPDX-License-Identifier: Apache-2.0

import Archive
import Foundation
import Media
import TestSupport

/// Compares the directories with the model.
extension ArchiveWalk {
    /// The possible causes of deletions since the last comparison.
    enum Deletion {
        case retention
        /// An operator deleted these files, and no others.
        case names(Set<String>)
    }

    /// Adds new recordings to the model, and checks that the directories have not changed otherwise, except by
    /// `deletion`. With `isUntold`, relay was killed directly after it had closed a file.
    func scan(_ deletion: Deletion = .names([]), isUntold: Bool = false) {
        scan(place, deletion, isUntold)
        for other in shelf { scan(other, .names([]), isUntold) }
        let found = Self.listing(above.path, depth: 0)
        for (name, stamp) in surroundings.others where found[name] != stamp {
            fault("the file \(name) of the archive above was touched")
        }
        for name in found.keys.sorted() where surroundings.others[name] == nil {
            fault("\(name) was made in the archive above")
        }
    }

    private func scan(_ place: ModelPlace, _ deletion: Deletion, _ isUntold: Bool) {
        let found = Self.listing(place.path)
        for (name, stamp) in place.others where found[name] != stamp {
            fault("\(name) is not of this archive, and was \(found[name] == nil ? "removed" : "changed")")
        }
        for name in place.aside where found[name] == nil { fault("\(name), which was set aside, was removed") }
        for name in place.names {
            guard let file = place.files[name] else { continue }
            if found[name] == nil {
                vanish(name, file, place, deletion)
            } else if found[name] != file.stamp {
                fault("\(name) was changed after it was closed")
            }
        }
        for name in found.keys.sorted() where place.files[name] == nil && place.others[name] == nil {
            appear(name, in: place, isUntold)
        }
    }

    private func vanish(_ name: String, _ file: ModelPlace.OwnFile, _ place: ModelPlace, _ deletion: Deletion) {
        switch deletion {
        case .names(let names): if !names.contains(name) { fault("\(name) is gone without having been deleted") }
        case .retention:
            note("retention deleted \(name)")
            if let reason = place.protection(of: name, hasUploads: hasUploads) {
                fault("retention deleted \(name) although \(reason)")
            }
            let age = time.now - file.ended
            if file.isAgeKnown, age < protectedAge {
                fault("retention deleted \(name) at the age of \(age.components.seconds) s: \(rules)")
            }
        }
        place.files[name] = nil
    }

    /// Handles a file that is not in the model yet: it must belong to a run of relay.
    private func appear(_ name: String, in place: ModelPlace, _ isUntold: Bool) {
        if name.hasSuffix(".broken") {
            place.aside.insert(name)
            return
        }
        let file = "\(place.path)/\(name)"
        // The system would date the file by the simulated wall clock.
        Self.date(file, at: time.wall)
        guard !name.hasSuffix(".part") else { return }
        guard let facts = try? SegmentReader.read(file), let position = facts.position,
            let run = runs[position.run]
        else { return fault("\(name) was made, and is no recording of relay") }
        guard let stamp = try? FileDescriptor.open(readOnly: file).stamp() else { return fault("\(name) is gone") }
        let first = SimulatedMedia.rate.frame(at: position.programStart, rounding: .down).number
        let frames = first..<first + Int64(facts.frames)
        var known = run
        known.recorded.append(frames)
        runs[position.run] = known
        let isRemembered = time.isRight || place === self.place && !isMissing && !isUntold
        var own = ModelPlace.OwnFile(
            run: position.run, frames: frames, ended: time.now, stamp: stamp, isAgeKnown: isRemembered)
        own.awaitsStart = isUntold || relay == nil || place !== self.place
        own.isReused = !place.usedNames.insert(name).inserted
        if own.isReused { place.ambiguousNames.insert(name) }
        // The catalogue still contains the row of an earlier file with this name, and was not told about the new file.
        own.isExempt = isUntold && own.isReused
        place.files[name] = own
        note("\(name) has the frames \(frames) of \(position.run)")
    }

    /// Returns the regular files below `path` with their stamps, except hidden files in `path` itself. Searches `depth`
    /// levels of subdirectories.
    static func listing(_ path: String, depth: Int = 8) -> [String: FileStamp] {
        var found: [String: FileStamp] = [:]
        var levels = [("", 0)]
        while let (directory, level) = levels.popLast() {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: "\(path)/\(directory)")) ?? []
            // The catalogue is not opened here, because closing its file would release SQLite's locks.
            for name in names where !directory.isEmpty || !name.hasPrefix(".") {
                let relative = directory + name
                guard let file = try? FileDescriptor.open(readOnly: "\(path)/\(relative)") else { continue }
                if (try? file.attributes().isRegular) == true {
                    found[relative] = try? file.stamp()
                } else if level < depth {
                    levels.append((relative + "/", level + 1))
                }
            }
        }
        return found
    }

    /// Sets the modification date of the file at `path`.
    static func date(_ path: String, at time: UTCTime) {
        let date = Date(timeIntervalSince1970: Double(time.milliseconds) / 1000)
        try? FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: path)
    }
}

// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Glibc

extension RecordingArchive {
    /// The result of repairing one file.
    package struct Repair: Sendable, Codable, Equatable {
        /// The file's path, relative to the directory of the recordings.
        package var file: String
        /// What was done, or why nothing could be done, in one sentence.
        package var text: String
        /// Whether nothing more can be repaired in the file.
        package var isRepaired: Bool
    }

    /// Completes files that a crash left open, and saves the readable content of damaged files to new files; the
    /// damaged files stay unchanged. The returned list contains no intact files.
    package func repair() throws(ArchiveFailure) -> [Repair] {
        do {
            let recordings = try directory.recordings()
            let open = recordings.filter { $0.kind == .open }.map(\.name)
            var repairs = SegmentRecovery.run(in: directory, open: open).compactMap(Self.repair)
            let names = Set(recordings.map(\.name))
            let total = recordings.count
            for (index, (name, kind)) in recordings.enumerated() where kind != .open {
                report("repairing", Int64(index), Int64(total))
                guard !name.hasSuffix(SegmentSalvage.repairedSuffix), !names.contains(SegmentSalvage.repairedName(name))
                else { continue }
                if let repair = salvage(name) { repairs.append(repair) }
            }
            report("repairing", Int64(total), Int64(total))
            if !repairs.isEmpty { updateCatalogue() }
            return repairs
        } catch {
            throw ArchiveFailure("\(error)")
        }
    }

    private static func repair(_ entry: SegmentRecovery.Entry) -> Repair? {
        switch entry.outcome {
        case .completed(let name, let frames, let dropped):
            let rest = dropped > 0 ? ", \(dropped) damaged bytes left out" : ""
            return Repair(file: entry.fileName, text: "completed as \(name): \(frames) frames\(rest)", isRepaired: true)
        case .renamed(let name):
            return Repair(file: entry.fileName, text: "was complete, and is called \(name) now", isRepaired: true)
        case .setAside(let name, let reason):
            return Repair(
                file: entry.fileName, text: "nothing in it can be played (\(reason)); kept as \(name)",
                isRepaired: true)
        case .inUse: return nil
        case .failed(let failure): return Repair(file: entry.fileName, text: "\(failure)", isRepaired: false)
        }
    }

    private func salvage(_ name: String) -> Repair? {
        let before: SegmentFacts?
        do throws(SegmentReadFailure) {
            let facts = try SegmentReader.read("\(directory.path)/\(name)")
            guard !facts.problems.isEmpty else { return nil }
            before = facts
        } catch .foreign {
            return nil
        } catch .file(let failure) {
            return Repair(file: name, text: "\(failure)", isRepaired: false)
        } catch {
            before = nil
        }
        do throws(SegmentReadFailure) {
            let outcome = try SegmentSalvage.run(name, in: directory)
            let after = try SegmentReader.read("\(directory.path)/\(outcome.fileName)")
            if let before, after.problems.count >= before.problems.count {
                unlink("\(directory.path)/\(outcome.fileName)")
                return Repair(file: name, text: "a copy would be no better: \(before.problems[0])", isRepaired: false)
            }
            let rest = outcome.lostBytes > 0 ? "; \(outcome.lostBytes) bytes could not be read" : ""
            return Repair(
                file: name, text: "\(outcome.frames) frames saved as \(outcome.fileName)\(rest)", isRepaired: true)
        } catch .file(let failure) {
            // The file's content is unknown, so the file does not count as repaired.
            return Repair(file: name, text: "\(failure)", isRepaired: false)
        } catch {
            return Repair(file: name, text: "nothing could be saved: \(error)", isRepaired: name.hasSuffix(".broken"))
        }
    }

    /// Updates the catalogue. If it cannot be written now, the next start adds the files.
    private func updateCatalogue() {
        guard exists(CatalogueStore.fileName), let store = try? CatalogueStore(directory: directory.path) else {
            return
        }
        _ = try? CatalogueSync.run(store, directory)
    }
}

// SPDX-License-Identifier: Apache-2.0

internal import Archive

/// Copies the clips and the upload ledger of damaged catalogues to the new catalogue.
enum ClipRestoring {
    /// The result of a restoration.
    struct Outcome: Equatable {
        /// The number of restored clips.
        var clips = 0
        /// Whether all clips were restored.
        var isWhole = true

        /// Returns one sentence for an operator; nil if nothing was lost or found.
        func text(in directory: RecordDirectory) -> String? {
            let found = "\(clips) clips of a damaged catalogue are in the new one"
            if isWhole { return clips > 0 ? found : nil }
            return """
                \(clips > 0 ? "\(found), and others" : "clips") may be lost: no recording that began before now is deleted \
                until \(directory.path)/\(ClipMark.unknown) is removed
                """
        }
    }

    /// Copies the readable clips and entries of the upload ledger to `store`, and removes invalid rows of clips from
    /// it. If the process is killed meanwhile, ``ClipMark`` remains, and the next start finishes the work.
    static func run(_ store: CatalogueStore, in directory: RecordDirectory) throws -> Outcome {
        var outcome = Outcome()
        let own = store.salvagedClips()
        if !own.damagedRows.isEmpty {
            try ClipMark.setUnknown(in: directory.path)
            try store.removeClips(at: own.damagedRows)
            outcome.isWhole = false
        }
        let numbers = try ClipMark.databases(in: directory.path)
        guard !numbers.isEmpty else { return outcome }
        var isWhole = true
        for number in numbers {
            let path = "\(directory.path)/\(CatalogueFiles.brokenName(number))"
            let broken = try? CatalogueStore(salvaging: path)
            try store.restore(broken?.salvagedUploadEntries() ?? [])
            let salvage = broken?.salvagedClips() ?? SalvagedClips()
            outcome.clips += try store.restore(salvage.clips)
            isWhole = isWhole && salvage.isWhole
        }
        try ClipMark.end(numbers, isWhole: isWhole, in: directory.path)
        outcome.isWhole = outcome.isWhole && isWhole
        return outcome
    }
}

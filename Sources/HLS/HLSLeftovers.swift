// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import Networking

/// Files of earlier runs that the playlist does not contain any more. Players may still use an older playlist that
/// contains them (RFC 8216, 6.2.2).
struct HLSLeftovers {
    /// A segment with its header, and the number of seconds for which they must still stay.
    struct Kept: Equatable {
        let names: Set<String>
        let seconds: Int64
    }

    private let directory: HLSDirectory
    private let names: [String]

    /// The files of earlier runs in `directory`.
    init(in directory: HLSDirectory) throws(OutputFailure) {
        self.directory = directory
        names = try directory.names().filter(HLSName.isOurs)
    }

    /// Removes files that are not in `named` and were written longer than `lifetime` seconds ago, and returns the
    /// others. This prevents runs that repeatedly end early from filling the disk.
    func clear(except named: Set<String>, lifetime: Int64) -> [Kept] {
        let now = HLSDate.nowMicroseconds / 1_000_000
        let others = Set(names).subtracting(named)
        var headers: [Substring: String] = [:]
        for name in others where HLSName.isMap(name) {
            if let run = HLSName.run(of: name) { headers[run] = name }
        }
        let kept = others.filter(HLSName.isSegment).compactMap { name -> Kept? in
            // If a file has a time in the future, the clock was set back after it was written.
            let age = max(0, now - directory.modified(name))
            guard age <= lifetime else { return nil }
            let header = HLSName.run(of: name).flatMap { headers[$0] }
            return Kept(names: Set([name, header].compactMap(\.self)), seconds: lifetime - age)
        }
        others.subtracting(kept.flatMap(\.names)).forEach(directory.remove)
        return kept
    }
}

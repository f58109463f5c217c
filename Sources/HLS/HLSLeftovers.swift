// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import Networking

/// The HLS files that earlier connection attempts, or an earlier process, wrote and that are not in the playlist any
/// more. Players may still use an older playlist that contains them (RFC 8216, 6.2.2).
struct HLSLeftovers {
    /// A segment and its header, and the number of seconds for which they must still be kept.
    struct Kept: Equatable {
        let names: Set<String>
        let seconds: Int64
    }

    private let directory: HLSDirectory
    private let names: [String]

    /// Finds the files in `directory` that were written earlier.
    init(in directory: HLSDirectory) throws(OutputFailure) {
        self.directory = directory
        names = try directory.names().filter(HLSName.isOurs)
    }

    /// Deletes the files that are not in `named`, except segments that were written at most `lifetime` seconds ago and
    /// their headers. Returns these segments and headers. If nothing were deleted, an output that fails again and again
    /// would fill the disk.
    func clear(except named: Set<String>, lifetime: Int64) -> [Kept] {
        let now = HLSDate.nowMicroseconds / 1_000_000
        let others = Set(names).subtracting(named)
        var headers: [Substring: String] = [:]
        for name in others where HLSName.isMap(name) {
            if let run = HLSName.run(of: name) { headers[run] = name }
        }
        let kept = others.filter(HLSName.isSegment).compactMap { name -> Kept? in
            // A time in the future means that the clock was set back after the file was written.
            let age = max(0, now - directory.modified(name))
            guard age <= lifetime else { return nil }
            let header = HLSName.run(of: name).flatMap { headers[$0] }
            return Kept(names: Set([name, header].compactMap(\.self)), seconds: lifetime - age)
        }
        others.subtracting(kept.flatMap(\.names)).forEach(directory.remove)
        return kept
    }
}

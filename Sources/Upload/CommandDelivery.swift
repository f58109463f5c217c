// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Catalogue
internal import Glibc

/// Runs a command for each finished file.
///
/// The command is a path and not a shell command line, so a shell never interprets it or a file's name. Environment
/// variables describe the file.
struct CommandDelivery: SegmentDelivery {
    /// The exit status by which a command asks to be run again later (`EX_TEMPFAIL` in `sysexits.h`).
    private static let laterStatus: Int32 = 75

    /// The command's absolute path.
    private let program: String
    private let limit: Duration

    /// Creates a delivery by the command at `path`, which must exist. For each file, the command may run for up to
    /// `limit`.
    init(_ path: String, limit: Duration = .seconds(600)) throws(UploadRefusal) {
        guard ChildCommand.canRun(path) else {
            throw UploadRefusal("--on-segment takes the path of a program, and \(path) cannot be run.")
        }
        program = AbsolutePath.of(path)
        self.limit = limit
    }

    func deliver(_ segment: CatalogueSegment, at path: String, holding lock: UploadLock) async throws(DeliveryFailure)
        -> Delivered
    {
        let command = ChildCommand(
            program: program, arguments: [], environment: Self.environment(segment, path), limit: limit)
        let outcome = try await command.run(input: lock.file)
        guard outcome.isSuccess else {
            let text = ErrorText.of(outcome.errors)
            throw DeliveryFailure(
                "\(program) \(outcome.ending)\(text.isEmpty ? "" : ": \(text)")",
                isLater: outcome.status == Self.laterStatus)
        }
        return Delivered(place: program, text: "the command was run")
    }

    /// Returns the variables that describe the file to the command.
    static func environment(_ segment: CatalogueSegment, _ path: String) -> [String: String] {
        [
            "RELAY_SEGMENT_PATH": path,
            "RELAY_SEGMENT_NAME": segment.name,
            "RELAY_CHANNEL": segment.channel,
            "RELAY_START": UTCTime(milliseconds: segment.start).extended,
            "RELAY_DURATION": seconds(segment.duration),
            "RELAY_FRAMES": String(segment.frames),
            "RELAY_BYTES": String(segment.bytes),
            "RELAY_ENDING": segment.ending?.rawValue ?? "",
        ]
    }

    /// Formats seconds with three decimals.
    private static func seconds(_ nanoseconds: Int64) -> String {
        let milliseconds = (nanoseconds + 500_000) / 1_000_000
        let fraction = String(milliseconds % 1000)
        return "\(milliseconds / 1000).\(String(repeating: "0", count: 3 - fraction.count))\(fraction)"
    }
}

enum AbsolutePath {
    /// Returns `path` as an absolute path.
    static func of(_ path: String) -> String {
        if path.hasPrefix("/") { return path }
        guard let current = getcwd(nil, 0) else { return path }
        defer { free(current) }
        return "\(String(cString: current))/\(path)"
    }
}

// SPDX-License-Identifier: Apache-2.0

internal import Catalogue
internal import Glibc
internal import Synchronization
internal import SystemPackage

/// Copies finished files to a remote with rclone, and verifies the copies.
final class RcloneDelivery: SegmentDelivery {
    private let rclone: String
    private let remote: RcloneRemote
    private let limit: String?
    /// The name of the hash by which files are compared, such as `sha256`. It is nil until rclone has reported the
    /// remote's hashes, and empty if the remote supports none.
    private let hash = Mutex<String?>(nil)

    /// The first of these hashes that the remote supports is used. If the remote supports none of them, any hash that
    /// it supports is used.
    private static let preferredHashes = ["sha256", "sha1", "md5"]
    private static let askingLimit = Duration.seconds(10)
    /// The time limit for computing hashes: this machine must read the file, and some remotes must read their copy as
    /// well.
    private static let hashingLimit = Duration.seconds(3600)
    /// The time limit for a copy, long enough for slow connections; rclone itself ends a connection that stalls.
    private static let copyingLimit = Duration.seconds(24 * 3600)

    /// Creates a delivery to `remote`; `limit` is the value for rclone's `--bwlimit`, or nil for no limit.
    init(_ remote: RcloneRemote, limit: String?) throws(UploadRefusal) {
        guard let rclone = Self.search(for: "rclone") else {
            throw UploadRefusal("--upload needs rclone, which is not installed: apt-get install rclone.")
        }
        self.rclone = rclone
        self.remote = remote
        self.limit = limit
    }

    private static func search(for name: String) -> String? {
        let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/local/bin:/usr/bin:/bin"
        return path.split(separator: ":").map { "\($0)/\(name)" }
            .first { $0.hasPrefix("/") && access($0, X_OK) == 0 }
    }

    /// Asks rclone about the remote. Throws if rclone does not know the remote or does not accept the bandwidth limit.
    /// If rclone fails for another reason, for example because the remote cannot be reached now, returns this reason.
    /// Returns nil if rclone succeeds.
    func check() async throws(UploadRefusal) -> String? {
        do {
            let nothing = try FileDescriptor.open("/dev/null", .readOnly)
            defer { try? nothing.close() }
            _ = try await hashType(nothing)
            return nil
        } catch let error as DeliveryFailure {
            let text = error.description
            if text.contains("didn't find section in config file") || text.contains("didn't find backend") {
                throw UploadRefusal(
                    "rclone has no remote \(remote.remote) for --upload; rclone listremotes says which there are.")
            }
            if text.contains("\"--bwlimit\"") {
                throw UploadRefusal("--upload-limit takes what rclone's --bwlimit does, such as 10M for 10 MiB/s.")
            }
            return text
        } catch {
            return "/dev/null cannot be opened: \(error)"
        }
    }

    func deliver(_ segment: CatalogueSegment, at path: String, holding lock: UploadLock) async throws(DeliveryFailure)
        -> Delivered
    {
        let hash = try await hashType(lock.file)
        let place = remote.place(of: segment.name)
        // If the remote supports no hash, `--ignore-times` makes rclone copy the file in any case. With `--checksum`,
        // rclone would then compare only sizes, but a file of the same size can have another content.
        let comparison = hash.isEmpty ? "--ignore-times" : "--checksum"
        try await run(["copyto", comparison, path, place], Self.copyingLimit, lock.file)
        return Delivered(place: place, text: try await verify(segment, path, place, hash, lock.file))
    }

    private func verify(
        _ segment: CatalogueSegment, _ path: String, _ place: String, _ hash: String, _ input: FileDescriptor
    ) async throws(DeliveryFailure) -> String {
        let asking = hash.isEmpty ? [] : ["--hash", "--hash-type", hash]
        let there = RcloneListing(
            parsing: try await run(["lsjson", "--stat"] + asking + [place], Self.hashingLimit, input))
        guard there.size == segment.bytes else {
            let size = there.size.map { "\($0) bytes" } ?? "nothing"
            throw DeliveryFailure("the remote has \(size) of a file of \(segment.bytes)")
        }
        guard let sum = there.hashes[hash] else { return "verified by its size alone: the remote keeps no hash of it" }
        let here = try await run(["hashsum", hash, path], Self.hashingLimit, input).prefix { !$0.isWhitespace }
        guard sum.lowercased() == here.lowercased() else {
            throw DeliveryFailure("the remote has other bytes (\(hash))")
        }
        return "verified by size and \(hash)"
    }

    private func hashType(_ input: FileDescriptor) async throws(DeliveryFailure) -> String {
        if let known = hash.withLock({ $0 }) { return known }
        // Only the root of the remote is queried: with a path, some backends would send a request to the server.
        let answer = try await run(["backend", "features", remote.remote], Self.askingLimit, input)
        let hashes = RcloneFeatures(parsing: answer).hashes
        let type = Self.preferredHashes.first(where: hashes.contains) ?? hashes.first ?? ""
        hash.withLock { $0 = type }
        return type
    }

    @discardableResult
    private func run(_ arguments: [String], _ time: Duration, _ input: FileDescriptor) async throws(DeliveryFailure)
        -> String
    {
        // rclone itself retries only a few times and only for a short time, because the uploader also retries, and logs
        // each failure.
        let flags =
            ["--ask-password=false", "--retries=1", "--low-level-retries=2", "--contimeout=15s", "--timeout=60s"]
            + ["--stats=0"] + (limit.map { ["--bwlimit=\($0)"] } ?? [])
        let command = ChildCommand(program: rclone, arguments: flags + arguments, limit: time)
        let outcome = try await command.run(input: input)
        guard outcome.isSuccess else {
            let text = ErrorText.of(outcome.errors)
            throw DeliveryFailure(text.isEmpty ? "rclone \(outcome.ending)" : text)
        }
        return outcome.output
    }
}

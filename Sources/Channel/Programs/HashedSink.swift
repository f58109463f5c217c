// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Dispatch
internal import Glibc
internal import LibAV
internal import Logging
internal import Media
internal import Synchronization

/// Writes a hash of each frame that goes to the encoder, one line per frame, so that the frames of two programs can be
/// compared. Called by the program's thread, which waits for the disk only at the end.
final class HashedSink: ProgramSink {
    private struct State {
        let hash: MurmurHash
        /// Lines that have not been passed to the disk queue yet.
        var lines = ""
        /// The number of bytes of hashes that were written to the file or are queued for it.
        var position: Int64 = 0
        var isOver = false
    }

    /// The number of characters that are collected before they are written.
    private static let block = 4096

    private static let patience = DispatchTimeInterval.seconds(2)

    private let next: any ProgramSink
    private let file: FileDescriptor
    private let logger: Logger
    private let queue = DispatchQueue(label: "relay.hashes", qos: .utility)
    private let state: Mutex<State>

    /// Creates a sink in front of `next` that writes to `path`. If a file of that name exists, the sink writes to
    /// `path.1` and so on. Throws ``ChannelFailure``.
    init(_ next: any ProgramSink, to path: String, logger: Logger) throws(ChannelFailure) {
        guard let hash = MurmurHash() else {
            throw ChannelFailure(.internalError, .writeFrameHashes(path), because: "there is no memory")
        }
        do throws(FileFailure) {
            file = try Self.create(path)
        } catch {
            throw ChannelFailure(.cannotRecord, .writeFrameHashes(path), because: error)
        }
        (self.next, self.logger) = (next, logger)
        state = Mutex(
            State(
                hash: hash,
                lines: "# frame, MurmurHash3 of its Y, Cb and Cr\n"))
    }

    /// Creates a new file for the hashes, and overwrites none: a channel that is reopened must keep its earlier hashes.
    private static func create(_ path: String) throws(FileFailure) -> FileDescriptor {
        for attempt in 0..<1000 {
            do throws(FileFailure) {
                return try FileDescriptor.create(attempt == 0 ? path : "\(path).\(attempt)")
            } catch {
                guard error.code == EEXIST else { throw error }
            }
        }
        throw FileFailure("create", path, code: EEXIST)
    }

    func encode(_ frame: VideoFrame, at index: Int64) throws {
        state.withLock { state in
            let digest = Self.digest(of: frame, state.hash)
            state.lines +=
                "\(index) \(digest.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined())\n"
            if state.lines.utf8.count >= Self.block { write(&state) }
        }
        try next.encode(frame, at: index)
    }

    func encode(_ audio: AudioBuffer) throws { try next.encode(audio) }

    /// Blocks until all hashes are written, but for at most 2 s, because the end of a program must not wait longer for
    /// a disk.
    func finish() throws {
        state.withLock { write(&$0) }
        let written = DispatchSemaphore(value: 0)
        queue.async { written.signal() }
        if written.wait(timeout: .now() + Self.patience) == .timedOut {
            logger.error("hashes of frames may be missing: the disk does not answer")
        }
        try next.finish()
    }

    /// Returns the hash of the rows of all planes of `frame`, without the padding between the rows.
    private static func digest(of frame: VideoFrame, _ hash: MurmurHash) -> [UInt8] {
        frame.storage.withPlanes { planes in
            let (across, down) = ((frame.width + 1) / 2, (frame.height + 1) / 2)
            for (plane, width, height) in [
                (planes.y, frame.width, frame.height), (planes.u, across, down), (planes.v, across, down),
            ] {
                for row in 0..<height {
                    hash.update(UnsafeRawBufferPointer(start: plane.bytes + row * plane.stride, count: width))
                }
            }
        }
        return hash.finish()
    }

    private func write(_ state: inout State) {
        let bytes = SharedBytes(Array(state.lines.utf8))
        let offset = state.position
        state.position += Int64(bytes.count)
        state.lines = ""
        queue.async { [self] in
            do throws(FileFailure) {
                try file.write([bytes], at: offset)
            } catch {
                let isNews = self.state.withLock { state in
                    defer { state.isOver = true }
                    return !state.isOver
                }
                if isNews { logger.error("hashes of frames are missing: \(error)") }
            }
        }
    }
}

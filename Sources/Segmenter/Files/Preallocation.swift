// SPDX-License-Identifier: Apache-2.0

internal import Archive

/// Reserves disk space before it is written, so that a full disk is noticed between two fragments instead of within
/// one, and so that a file has few extents. When the file is closed, it is truncated to its size, which releases the
/// unused space.
struct Preallocation {
    /// The minimum of `step`, in bytes.
    static let leastStep: Int64 = 1 << 20

    /// The usual size of a reservation, in bytes.
    private let step: Int64
    private var end: Int64 = 0
    private var isPossible = true

    /// Creates a preallocation in steps of four seconds at `bitrate` bits per second, but at least 1 MiB and at most 16
    /// MiB.
    init(bitrate: Int) { step = min(max(Int64(bitrate) / 2, Self.leastStep), 16 << 20) }

    /// Makes sure that space for `count` bytes at `offset` is reserved. If there is too little free space for a whole
    /// step, reserves space only up to the end of these bytes, and throws if there is not even that much. Does nothing
    /// if the file system cannot reserve space.
    mutating func reserve(_ count: Int64, at offset: Int64, in file: FileDescriptor) throws(FileFailure) {
        guard isPossible, offset + count > end else { return }
        let begin = max(end, offset)
        if case .done = allocate(max(step, offset + count - begin), begin, file) { return }
        guard isPossible else { return }
        if case .noSpace(let failure) = allocate(offset + count - begin, begin, file) { throw failure }
    }

    private mutating func allocate(
        _ count: Int64, _ begin: Int64, _ file: FileDescriptor
    ) -> FileDescriptor.Allocation {
        let result = file.allocate(count, at: begin)
        switch result {
        case .done: end = begin + count
        case .impossible: isPossible = false
        case .noSpace: break
        }
        return result
    }
}

// SPDX-License-Identifier: Apache-2.0

internal import Archive

/// Reserves space ahead of what is written, so that a full disk is met between two fragments and not within one, and so
/// that a file lies in few pieces. What is not used is given back when the file is cut to its size at the close.
struct Preallocation {
    /// The least that is reserved at a time.
    static let leastStep: Int64 = 1 << 20

    /// How much is reserved at a time.
    private let step: Int64
    private var end: Int64 = 0
    private var isPossible = true

    /// Reserves in steps of four seconds at `bitrate` bits a second, from 1 MiB to 16 MiB.
    init(bitrate: Int) { step = min(max(Int64(bitrate) / 2, Self.leastStep), 16 << 20) }

    /// Makes sure that there is room for `count` bytes at `offset`. Where space is short, no more than that is taken.
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

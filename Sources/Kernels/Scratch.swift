// SPDX-License-Identifier: Apache-2.0

/// Temporary memory of a kernel; it grows to the largest requested size. One thread at a time.
final class Scratch<Element: BitwiseCopyable> {
    private(set) var base: UnsafeMutablePointer<Element>
    private var capacity: Int

    init(_ capacity: Int = 1) {
        self.capacity = capacity
        base = .allocate(capacity: capacity)
    }

    deinit { base.deallocate() }

    /// Room for `count` elements with undefined values.
    func reserve(_ count: Int) -> UnsafeMutablePointer<Element> {
        if count > capacity {
            base.deallocate()
            base = .allocate(capacity: count)
            capacity = count
        }
        return base
    }
}

// SPDX-License-Identifier: Apache-2.0

/// Temporary memory of a kernel, which grows to the largest requested size. Only one thread may use it at a time.
final class Scratch<Element: BitwiseCopyable> {
    private(set) var base: UnsafeMutablePointer<Element>
    private var capacity: Int

    init(_ capacity: Int = 1) {
        self.capacity = capacity
        base = .allocate(capacity: capacity)
    }

    deinit { base.deallocate() }

    /// Returns memory for `count` elements, whose values are undefined.
    func reserve(_ count: Int) -> UnsafeMutablePointer<Element> {
        if count > capacity {
            base.deallocate()
            base = .allocate(capacity: count)
            capacity = count
        }
        return base
    }
}

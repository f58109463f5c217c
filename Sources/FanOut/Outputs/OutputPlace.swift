// SPDX-License-Identifier: Apache-2.0

/// A resource that an output occupies, such as a port or a directory.
///
/// A new output waits while a removed output with a place of the same name still ends, unless both outputs can use the
/// place at the same time.
package struct OutputPlace: Sendable, Equatable {
    /// The resource's name. Places with different names do not affect each other.
    let name: String
    /// Outputs with the same value of `sharing` can always use the place at the same time. Nil if this output can share
    /// the place with no other output.
    let sharing: String?
    /// Outputs with the same value of `succession` can follow each other while connections of the first output still
    /// end: the second output waits only until the first one has closed its listening socket. Nil if the second output
    /// must wait until the first one has ended.
    let succession: String?

    /// The place `name`; see ``sharing`` and ``succession`` for the other values.
    package init(_ name: String, sharing: String? = nil, succession: String? = nil) {
        (self.name, self.sharing, self.succession) = (name, sharing, succession)
    }

    /// Whether an output at `next` must wait for the removed output at this place. `hasStoppedListening` tells whether
    /// the removed output has closed its listening socket.
    func excludes(_ next: OutputPlace, hasStoppedListening: Bool) -> Bool {
        guard name == next.name else { return false }
        if let sharing, sharing == next.sharing { return false }
        if hasStoppedListening, let succession, succession == next.succession { return false }
        return true
    }
}

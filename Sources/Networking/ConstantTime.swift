// SPDX-License-Identifier: Apache-2.0

/// Compares texts of peers with secrets.
package enum ConstantTime {
    /// Whether both texts are equal. All bytes of `given` are compared, so that the time does not depend on the position
    /// of the first difference from `secret`.
    package static func isEqual(_ given: String, _ secret: String) -> Bool {
        let (given, secret) = (Array(given.utf8), Array(secret.utf8))
        var difference = given.count ^ secret.count
        for index in given.indices {
            difference |= Int(given[index] ^ (secret.isEmpty ? 0 : secret[index % secret.count]))
        }
        return difference == 0
    }
}

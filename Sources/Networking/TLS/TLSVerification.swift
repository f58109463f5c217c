// SPDX-License-Identifier: Apache-2.0

/// Whose certificates a server may show.
package enum TLSVerification: Sendable, Hashable {
    /// Those of the system's authorities.
    case system
    /// Those of the authorities in this PEM file, and no others.
    case authority(file: String)
    /// Anyone's: the connection is encrypted, and nobody knows with whom.
    case insecure
}

// SPDX-License-Identifier: Apache-2.0

/// Determines which server certificates are accepted.
package enum TLSVerification: Sendable, Hashable {
    /// Certificates of the authorities that the system trusts.
    case system
    /// Certificates of the authorities in this PEM file, and no others.
    case authority(file: String)
    /// Any certificate: the connection is encrypted, but the identity of the server is not known.
    case insecure
}
